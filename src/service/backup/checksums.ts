import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** SQLite's own check does not detect a changed byte in a ciphertext. `sha256sum --check` reads this file, too. */
const sumsFile = 'SHA256SUMS'

/** The SHA-256 of each file, by its path in the backup's folder. */
export type Checksums = ReadonlyMap<string, string>

export async function checksumOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return hash.digest('hex')
}

export async function writeChecksums(folder: string, names: string[]): Promise<void> {
  const lines: string[] = []
  for (const name of names) lines.push(`${await checksumOf(join(folder, name))}  ${name}\n`)
  await writeFile(join(folder, sumsFile), lines.join(''), { flag: 'wx' })
}

/** Undefined for a backup of an earlier version. */
export async function readChecksums(folder: string): Promise<Checksums | undefined> {
  const text = await readFile(join(folder, sumsFile), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  return new Map([...text.matchAll(/^([\da-f]{64}) [ *](.+)$/gm)].map(([, sum = '', name = '']) => [name, sum]))
}

/** Undefined if the file is missing or cannot be reached. */
export async function sizeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.size
}
