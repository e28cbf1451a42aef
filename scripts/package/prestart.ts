/**
 * `npm start` first builds the given parts of dist/, if the tools are installed. After `npm ci --omit=dev` they are not:
 * then the service shows what was built before, if anything.
 */
if (hasTools()) await import('./build.ts')
else
  console.log('The demo app and the documents are not built, because the development dependencies are not installed.')

function hasTools(): boolean {
  try {
    import.meta.resolve('esbuild')
    return true
  } catch {
    return false
  }
}
