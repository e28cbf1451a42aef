import { access, chmod, cp, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { thirdPartyFile } from '../package/licences.ts'
import { addNode, nodeLicence, type Platform } from './node.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const name = 'encrypted-bookmark-sync'
const driver = 'node_modules/better-sqlite3'
/** node-addon-api is compiled into the driver. SQLite is, too, but it is in the public domain. */
const addonLicence = 'node_modules/node-addon-api/LICENSE.md'
/** The licence files of all parts, below the service's folder. */
const licences = [
  'LICENSE',
  ...['', 'web/', 'docs/'].map((folder) => `${folder}${thirdPartyFile}`),
  `${driver}/LICENSE`,
  addonLicence,
  nodeLicence,
]
/** The paths of the service and of Node that are written in the files of deploy/. */
const [usual, usualNode] = [`/opt/${name}`, '/usr/bin/node']

/** Copies the parts for a platform into a folder: the built service, its SQLite driver, and Node. */
async function layService(folder: string, platform: Platform): Promise<void> {
  const built = join(root, 'dist/service')
  const packages = join(built, 'node_modules')
  await cp(built, folder, { recursive: true, filter: (path) => path !== packages })
  for (const part of ['lib', 'package.json', 'LICENSE', `prebuilds/linux-${platform.name}.node`])
    await copy(join(driver, part), join(folder, driver, part))
  await copy(addonLicence, join(folder, addonLicence))
  await addNode(platform, folder)
  for (const file of licences) await access(join(folder, file))
}

/** Fills a folder with the contents of /opt/encrypted-bookmark-sync: the service, and files for systemd. */
export async function stageTarball(folder: string, platform: Platform): Promise<void> {
  await layService(folder, platform)
  for (const file of ['ebs', `${name}.service`])
    await copyAdjusted(`deploy/systemd/${file}`, join(folder, 'systemd', file))
  await chmod(join(folder, 'systemd/ebs'), 0o755)
  for (const file of [`${name}.sysusers`, 'environment.sample'])
    await copy(`deploy/systemd/${file}`, join(folder, 'systemd', file))
}

/** Fills a folder with the contents of a Debian package: the same files where Debian has them. */
export async function stageDebian(folder: string, platform: Platform, version: string): Promise<void> {
  const home = `/usr/lib/${name}`
  const inside = (path: string) => join(folder, path)
  await layService(inside(home), platform)
  await copyAdjusted('deploy/systemd/ebs', inside('usr/bin/ebs'), home)
  await chmod(inside('usr/bin/ebs'), 0o755)
  await copyAdjusted(`deploy/systemd/${name}.service`, inside(`lib/systemd/system/${name}.service`), home)
  await copy(`deploy/systemd/${name}.sysusers`, inside(`usr/lib/sysusers.d/${name}.conf`))
  // Not a conffile: everybody edits those settings, so dpkg would ask about each change of this sample, while the service
  // is stopped.
  await copy('deploy/systemd/environment.sample', inside(`${home}/environment.sample`))
  const texts = licences.map(
    async (file) => `${home}/${file}\n\n${await readFile(inside(`${home}/${file}`), 'utf8')}\n`,
  )
  await mkdir(inside(`usr/share/doc/${name}`), { recursive: true })
  await writeFile(inside(`usr/share/doc/${name}/copyright`), (await Promise.all(texts)).join(`${'='.repeat(80)}\n`))
  await rename(inside(`${home}/examples`), inside(`usr/share/doc/${name}/examples`))
  for (const script of ['postinst', 'prerm', 'postrm'])
    await copy(`deploy/debian/${script}`, inside(`DEBIAN/${script}`))
  const { description } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { description: string }
  const control = {
    Package: name,
    Version: version,
    Architecture: platform.debian,
    Maintainer: `The maintainers of ${name} <maintainers@example.org>`,
    Section: 'web',
    Priority: 'optional',
    // The SQLite driver needs the libraries, the unit needs LoadCredential= (systemd 247), and passwd creates the user.
    Depends: 'libc6 (>= 2.34), libstdc++6 (>= 11), systemd (>= 247), passwd',
    Recommends: 'caddy | nginx, ca-certificates',
    Description: `bookmarks in sync, which the operator cannot read\n ${description}`,
  }
  const lines = Object.entries(control).map(([field, value]) => `${field}: ${value}\n`)
  await writeFile(inside('DEBIAN/control'), lines.join(''))
}

async function copy(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  await cp(join(root, from), to, { recursive: true })
}

/** Copies a file and adjusts its paths: the service is in `home`, and Node in its folder `bin`. */
async function copyAdjusted(from: string, to: string, home = usual): Promise<void> {
  const text = await readFile(join(root, from), 'utf8')
  await mkdir(dirname(to), { recursive: true })
  await writeFile(to, text.replaceAll(usualNode, `${usual}/bin/node`).replaceAll(usual, home))
}
