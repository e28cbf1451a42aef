import { copyFile, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { modulesOf, thirdPartyFile, thirdPartyText } from './licences.ts'
import { zip } from './zip.ts'

const source = new URL('../../examples/extension/', import.meta.url)
const dist = new URL('../../dist/extension/', import.meta.url)
const pages = ['start', 'popup', 'options', 'titles']

/** The parts of the manifest that differ between browsers. */
const manifests = {
  chrome: {
    minimum_chrome_version: '123',
    background: { service_worker: 'worker.js', type: 'module' },
    // Chrome's service workers have no HTML parser, so an offscreen document finds the titles of pages.
    permissions: ['offscreen'],
    // Gives the unpacked extension a fixed id. A service in development allows requests of this id.
    key: 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA2dtRVd6IbE/5aQ2NXCwSytev3Dx1NmBnvUNfkmIejx59/pSiiERiR3f8nAk49FGGLPsznhHvuWRWRFvZyF7SkEukKX4aoXuNjNiI/QSLAZkav4SXUs2IP7bnUwAdADUbdb/OKR8s2FxmePi2Y6t8OFvFA7IO2OvwzsbZzSnDqYBA8ofhPr5Ml56OepFlyOxszyahGS6bOH+8k/W7QTW5a1Qe3vauvn1amE+LQL37Dp+SgiEmuq8fR0rgKukIdA6jHAdcOnmDzSAQU13gSQzPHlB1bGl8Nfj1pxkbOEud3HspS3juIJjEyFAmZML8ug3R2DTclMIdbNKX2akTwME/WQIDAQAB',
  },
  firefox: {
    background: { scripts: ['worker.js'], type: 'module' },
    browser_specific_settings: {
      gecko: {
        id: 'encrypted-bookmark-sync@example.org',
        strict_min_version: '142.0',
        data_collection_permissions: {
          required: ['bookmarksInfo', 'authenticationInfo'],
          optional: ['browsingActivity'],
        },
      },
    },
  },
}

/** Builds the browser extension for each browser: unpacked, and as a zip file for its store. */
export async function buildExtension(): Promise<void> {
  await rm(dist, { recursive: true, force: true })
  for (const [browser, manifest] of Object.entries(await readManifests())) {
    const folder = new URL(`${browser}/`, dist)
    await bundle(folder)
    await copyAll(folder)
    await writeFile(new URL('manifest.json', folder), toJson(manifest))
    const files = await Array.fromAsync(glob('**/*.*', { cwd: folder }))
    // The zip file has no `key`, because stores assign their own.
    const forStore = Buffer.from(toJson({ ...manifest, key: undefined }))
    const read = async (name: string) => (name === 'manifest.json' ? forStore : readFile(new URL(name, folder)))
    const entries = files.sort().map(async (name) => ({ name, data: await read(name) }))
    await writeFile(new URL(`${browser}.zip`, dist), zip(await Promise.all(entries)))
  }
}

/** The fields of a manifest that tests and builds read. */
interface Manifest {
  permissions: string[]
  optional_permissions: string[]
  optional_host_permissions: string[]
  content_security_policy: { extension_pages: string }
}

/** The manifest of the unpacked extension for each browser. */
export async function readManifests(): Promise<{ chrome: Manifest; firefox: Manifest & typeof manifests.firefox }> {
  const common: Manifest = JSON.parse(await readFile(new URL('manifest.json', source), 'utf8'))
  const permissions = [...common.permissions, ...manifests.chrome.permissions]
  return { chrome: { ...common, ...manifests.chrome, permissions }, firefox: { ...common, ...manifests.firefox } }
}

function toJson(manifest: object): string {
  return `${JSON.stringify(manifest, null, 2)}\n`
}

/** The worker is one file, because Chrome's cannot load code later (Firefox's loads `titles.js`). Pages share files. */
async function bundle(folder: URL): Promise<void> {
  const entry = (name: string) => fileURLToPath(new URL(`../../src/extension/app/${name}.ts`, import.meta.url))
  const common = {
    outdir: fileURLToPath(folder),
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    charset: 'utf8',
    metafile: true,
    logLevel: 'warning',
  } as const
  const worker = await build({ ...common, entryPoints: [entry('worker')], external: ['./titles.js'] })
  const shared = await build({ ...common, entryPoints: pages.map(entry), splitting: true })
  const modules = modulesOf(worker.metafile, shared.metafile)
  await writeFile(new URL(thirdPartyFile, folder), thirdPartyText(modules))
}

async function copyAll(folder: URL): Promise<void> {
  for (const name of [...pages.map((page) => `${page}.html`), 'style.css']) {
    await copyFile(new URL(`pages/${name}`, source), new URL(name, folder))
  }
  for await (const name of glob(['_locales/*/messages.json', 'icons/*.png'], { cwd: source })) {
    await mkdir(new URL(`${dirname(name)}/`, folder), { recursive: true })
    await copyFile(new URL(name, source), new URL(name, folder))
  }
}
