import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { glob, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = new URL('../../', import.meta.url)
const outcome = new URL('dist/docs/', root)
/** All that the documents are made of. */
const sources = [
  'README.md',
  'CHANGELOG.md',
  'openapi.yaml',
  'asyncapi.yaml',
  'workflows.arazzo.yaml',
  'test/vectors/*.json',
  'package-lock.json',
  'docs/**/*',
  'docs/.vitepress/{*.ts,theme/*}',
  'generated/*.json',
  'scripts/{docs,contract}/*.ts',
  'src/{client,extension,web}/**/*',
]

/**
 * Writes the documents as static files for a host that has them under `base`; `/docs/` is where the service has them. They
 * are left as they are if nothing has changed since the last build.
 */
export async function buildDocs(base = '/docs/', folder = outcome): Promise<void> {
  const state = new URL('.state', folder)
  const hash = await hashOfSources(base)
  if ((await readFile(state, 'utf8').catch(() => '')) === hash) return
  const vitepress = fileURLToPath(new URL('bin/vitepress.js', import.meta.resolve('vitepress/package.json')))
  const words = [vitepress, 'build', 'docs', '--base', base, '--outDir', fileURLToPath(folder)]
  // Its output is shown if it fails.
  await promisify(execFile)(process.execPath, words, { cwd: fileURLToPath(root) })
  await writeFile(state, hash)
}

async function hashOfSources(base: string): Promise<string> {
  const hash = createHash('sha256').update(base)
  const entries = await Array.fromAsync(glob(sources, { cwd: root, withFileTypes: true }))
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => `${parentPath}/${name}`)
  for (const path of paths.toSorted()) hash.update(path).update(await readFile(path))
  return hash.digest('hex')
}
