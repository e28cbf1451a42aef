import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build, type Metafile, type OutputFile, type Plugin } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))
export interface Budget {
  what: string
  /** The code of an app, which imports the package from `client/` and `extension/`. */
  code: string
  /** A module that is loaded on demand: measures what it loads. `*`: everything but the passphrase dictionaries. */
  file?: string
  /** For an extension's worker, which is one file, because it cannot load code later. */
  isOneFile?: true
  /** The size after minifying and gzip, rounded up to kilobytes (1,000 bytes). */
  kilobytes: number
  /** The size that the package promises not to exceed, in kilobytes. */
  most?: number
}

/** The limit in bytes. Growth by up to 5 % is allowed. */
export function limitOf({ kilobytes, most = Number.POSITIVE_INFINITY }: Budget): number {
  return Math.round(1000 * Math.min(1.05 * kilobytes, most))
}

/** How many bytes of the package an app with this code loads. */
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
    // The app has its own React.
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

/** The file and its static imports. */
function loadedWith(path: string, { outputs }: Metafile): string[] {
  const loaded = new Set([path])
  for (const one of loaded) {
    for (const { kind, path } of outputs[one]?.imports ?? []) if (kind === 'import-statement') loaded.add(path)
  }
  return [...loaded]
}

/** Sets `sideEffects: false`, as in the `package.json` of the built package. */
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
