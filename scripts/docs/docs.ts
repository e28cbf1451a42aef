import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = new URL('../../', import.meta.url)
const outcome = new URL('dist/docs/', root)

/** Writes the documents as static files, for a host that has them at the path `base`. The service has them at `/docs/`. */
export async function buildDocs(base = '/docs/', folder = outcome): Promise<void> {
  const vitepress = fileURLToPath(new URL('bin/vitepress.js', import.meta.resolve('vitepress/package.json')))
  const words = [vitepress, 'build', 'docs', '--base', base, '--outDir', fileURLToPath(folder)]
  // If VitePress fails, the error contains its output.
  await promisify(execFile)(process.execPath, words, { cwd: fileURLToPath(root) })
}
