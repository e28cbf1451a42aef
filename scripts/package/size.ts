/** `npm run size`, part of `npm run check`: compares what an app loads of the client package with size-budget.json. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))
const budgets = JSON.parse(await readFile(new URL('../../size-budget.json', import.meta.url), 'utf8')) as Budget[]

interface Budget {
  what: string
  /** The app's code, which imports the package from `client/`. */
  code: string
  /** The limit for everything that loads with it, minified and compressed with gzip. */
  maxBytes: number
}

let isOver = false
for (const { what, code, maxBytes } of budgets) {
  const bytes = await sizeOf(code)
  console.log(`${what}: ${bytes} of ${maxBytes} bytes`)
  isOver ||= bytes > maxBytes
}
if (isOver) {
  console.error('The client package is over its size budget (size-budget.json)')
  process.exitCode = 1
}

/** The entry point and its static imports, without what is imported on demand. */
async function sizeOf(code: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: code.replaceAll('client/', './src/client/'), resolveDir: root, loader: 'ts' },
    outdir: 'size',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    write: false,
    metafile: true,
  })
  const entry = outputFiles.find(({ path }) => path.endsWith('stdin.js'))
  const isNeeded = (path: string) => entry?.text.match(new RegExp(`(from|import)"./${path.split('/').at(-1)}"`))
  const needed = outputFiles.filter((file) => file === entry || isNeeded(file.path))
  return needed.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0)
}
