/** `npm run size`, part of `npm run check`: compares what an app loads of the client package with size-budget.json. */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))
const budgets = JSON.parse(await readFile(new URL('../../size-budget.json', import.meta.url), 'utf8')) as Budget[]

interface Budget {
  what: string
  /** The app's code, which imports the package from `client/`. */
  code: string
  /** Instead of what loads with the code, everything that it imports when it needs it. */
  loads?: 'on demand'
  /** The limit for all of that, minified and compressed with gzip. */
  maxBytes: number
}

let isOver = false
for (const budget of budgets) {
  const bytes = await sizeOf(budget)
  console.log(`${budget.what}: ${bytes} of ${budget.maxBytes} bytes`)
  isOver ||= bytes > budget.maxBytes
}
if (isOver) {
  console.error('The client package is over its size budget (size-budget.json)')
  process.exitCode = 1
}

async function sizeOf({ code, loads }: Budget): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: code.replaceAll('client/', './src/client/'), resolveDir: root, loader: 'ts' },
    plugins: [withoutSideEffects()],
    outdir: 'size',
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    // The app brings it.
    external: ['react'],
    write: false,
  })
  const entry = outputFiles.find(({ path }) => path.endsWith('stdin.js'))
  const isStatic = (path: string) => entry?.text.match(new RegExp(`(from|import)"./${path.split('/').at(-1)}"`))
  const counted = outputFiles.filter((file) => (file === entry || !!isStatic(file.path)) === (loads === undefined))
  return counted.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0)
}

/** What the built package says of its modules in `package.json`. */
function withoutSideEffects(): Plugin {
  return {
    name: 'without side effects',
    setup({ onResolve, resolve }) {
      onResolve({ filter: /^\.\.?\// }, async ({ path, pluginData, ...from }) => {
        if (pluginData === 'resolved' || from.resolveDir.includes('node_modules')) return undefined
        return { ...(await resolve(path, { ...from, pluginData: 'resolved' })), sideEffects: false }
      })
    },
  }
}
