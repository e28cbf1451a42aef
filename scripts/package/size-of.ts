import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type Metafile, type OutputFile, type Plugin } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))
export interface Budget {
  what: string
  /** The app's code, which imports the package from `client/` and `extension/`. */
  code: string
  /** Instead of what loads with the code: what loads once this module is needed, or `*` for all but the dictionaries. */
  file?: string
  /** True of an extension's worker, which cannot load anything later: without what only files that load later share. */
  isOneFile?: true
  /** The size of all of that, minified and compressed with gzip, rounded up to kilobytes (of 1,000 bytes). */
  kilobytes: number
  /** The kilobytes that the package promises, if the limit is otherwise higher. */
  most?: number
}

/** A change that grows the package by more than 5 % is one to know of; a few bytes are not worth a thought. */
export function limitOf({ kilobytes, most = Number.POSITIVE_INFINITY }: Budget): number {
  return Math.round(1000 * Math.min(1.05 * kilobytes, most))
}

/** The bytes that an app with this code loads of the package. */
export async function sizeOf({ code, file, isOneFile }: Budget): Promise<number> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: code.replaceAll(/'(client|extension)\//g, "'./src/$1/"), resolveDir: root, loader: 'ts' },
    plugins: [withoutSideEffects()],
    outdir: 'size',
    bundle: true,
    splitting: !isOneFile,
    format: 'esm',
    target: 'es2022',
    minify: true,
    // The app brings it.
    external: ['react'],
    write: false,
    metafile: true,
  })
  const bytesOf = ({ path, contents }: OutputFile) =>
    counted.some((name) => path.endsWith(name)) ? gzipSync(contents, { level: 9 }).length : 0
  const first = loadedWith('size/stdin.js', metafile)
  const paths = Object.keys(metafile.outputs)
  const later = paths.find((path) => path.startsWith(`size/${file}-`))
  const all = file === '*' ? paths.filter((path) => !path.startsWith('size/judge-')) : first
  const counted = later ? loadedWith(later, metafile).filter((path) => !first.includes(path)) : all
  return outputFiles.reduce((sum, output) => sum + bytesOf(output), 0)
}

/** The file, and those that it imports without waiting until it needs them. */
function loadedWith(path: string, { outputs }: Metafile): string[] {
  const loaded = new Set([path])
  for (const one of loaded) {
    for (const { kind, path } of outputs[one]?.imports ?? []) if (kind === 'import-statement') loaded.add(path)
  }
  return [...loaded]
}

/** As the built package says of its modules in `package.json`. */
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
