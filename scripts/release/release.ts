import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFile, mkdir, mkdtempDisposable, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../src/service/terminal/command.ts'
import type { Report } from '../../src/service/terminal/progress.ts'
import { buildParts } from '../package/parts.ts'
import { writeDeb, writeTar } from './archive.ts'
import { stageDebian, stageTarball } from './installation.ts'
import { platforms } from './node.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = join(root, 'dist/release')
const name = 'encrypted-bookmark-sync'

/** Writes all release files. Returns their names. */
export async function release(version: string, report: Report): Promise<string[]> {
  if (run('git', 'status', '--porcelain') !== '') throw new UsageError('the tree is not clean: commit or discard first')
  const seconds = Number(run('git', 'log', '-1', '--format=%ct'))
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await buildParts(['client', 'web', 'docs', 'extension', 'service'], report)

  for (const part of ['client', 'service']) run('npm', 'pack', `./dist/${part}`, '--pack-destination', folder)
  for (const browser of ['chrome', 'firefox'])
    await copyFile(
      join(root, `dist/extension/${browser}.zip`),
      join(folder, `${name}-extension-${version}-${browser}.zip`),
    )
  await using staged = await mkdtempDisposable(join(tmpdir(), 'ebs-release-'))
  for (const [index, platform] of platforms.entries()) {
    report(`packing for Linux ${platform.name}`, index, platforms.length)
    const packed = `${name}-${version}-linux-${platform.name}`
    await stageTarball(join(staged.path, packed), platform)
    await writeTar(staged.path, packed, join(folder, `${packed}.tar.gz`), seconds)
    const debian = `${name}_${version}_${platform.debian}`
    await stageDebian(join(staged.path, debian), platform, version)
    await writeDeb(join(staged.path, debian), join(folder, `${debian}.deb`), seconds)
  }
  await writeFile(join(folder, `${name}-${version}.cdx.json`), billOfMaterials(seconds))
  await copyFile(join(root, 'deploy/verify.sh'), join(folder, 'verify.sh'))
  return [...(await writeSums()), 'SHA256SUMS']
}

interface Bill {
  serialNumber?: string
  metadata: { timestamp: string; component: { name: string } }
}

/** The bill of materials (CycloneDX). Its time and serial number are the same for each build of this commit. */
function billOfMaterials(seconds: number): string {
  const printed = run('npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only')
  const bill = JSON.parse(printed) as Bill
  delete bill.serialNumber
  // npm puts the name of the checkout's folder here.
  bill.metadata.component.name = name
  bill.metadata.timestamp = new Date(seconds * 1000).toISOString()
  const hex = createHash('sha256').update(JSON.stringify(bill)).digest('hex')
  // Version 8: a custom UUID.
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return `${JSON.stringify({ ...bill, serialNumber: `urn:uuid:${parts.join('-')}` }, null, 2)}\n`
}

async function writeSums(): Promise<string[]> {
  const names = (await readdir(folder)).sort()
  const lines = names.map(async (file) => {
    const sum = createHash('sha256').update(await readFile(join(folder, file)))
    return `${sum.digest('hex')}  ${file}\n`
  })
  await writeFile(join(folder, 'SHA256SUMS'), (await Promise.all(lines)).join(''))
  return names
}

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1e8,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()
}
