import { execFileSync } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The version of the dev dependency `node`. Its script downloads Node, so the sums are below, not in the lock file. */
export const nodeVersion = '24.21.0'

/** The path for Node's licence in the service's folder. */
export const nodeLicence = 'bin/LICENSE.node'

export interface Platform {
  name: 'x64' | 'arm64'
  /** Debian's name for the platform. */
  debian: string
  /** The integrity (sum) that npm shows for the package with Node. */
  integrity: string
}

export const platforms: readonly Platform[] = [
  {
    name: 'x64',
    debian: 'amd64',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  {
    name: 'arm64',
    debian: 'arm64',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
]

/** Downloads Node from npm, and puts it and its licence into `bin/` in a folder. Throws if its integrity is another one. */
export async function addNode({ name, integrity }: Platform, folder: string): Promise<void> {
  const spec = `node-linux-${name}@${nodeVersion}`
  await using folderOfPackage = await mkdtempDisposable(join(tmpdir(), 'ebs-node-'))
  const at = folderOfPackage.path
  const printed = execFileSync('npm', ['pack', spec, '--json', '--pack-destination', at], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [packed] = JSON.parse(printed) as [{ filename: string; integrity: string }]
  if (packed.integrity !== integrity) throw new Error(`${spec} is another one: ${packed.integrity}`)
  execFileSync('tar', ['-xzf', join(at, packed.filename), '-C', at, 'package/bin/node', 'package/LICENSE'])
  await mkdir(join(folder, 'bin'), { recursive: true })
  await copyFile(join(at, 'package/bin/node'), join(folder, 'bin/node'))
  await copyFile(join(at, 'package/LICENSE'), join(folder, nodeLicence))
  await chmod(join(folder, 'bin/node'), 0o755)
}
