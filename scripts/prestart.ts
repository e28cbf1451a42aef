/**
 * Before `npm start`, builds the web page and the documents, if the tools are installed. After `npm ci --omit=dev` they are
 * not: then the service shows what was built before, if anything.
 */
if (hasTools()) {
  const [{ buildParts }, { withProgress }] = await Promise.all([
    import('./package/parts.ts'),
    import('../src/service/terminal/progress.ts'),
  ])
  await withProgress(({ report }) => buildParts(['web', 'docs'], report))
} else
  console.log('The web page and the documents are not built, because the development dependencies are not installed.')

function hasTools(): boolean {
  try {
    import.meta.resolve('esbuild')
    return true
  } catch {
    return false
  }
}
