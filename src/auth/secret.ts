import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError, parseSecretKey } from '../config.ts'

/** Development needs no SECRET_KEY: one is made at the first start and kept beside the data that it seals. */
export async function loadDevelopmentSecret(dataDir: string): Promise<Uint8Array> {
  const path = join(dataDir, 'secret.key')
  try {
    await mkdir(dataDir, { recursive: true })
    await writeFile(path, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw new ConfigError(`DATA_DIR: ${dataDir} cannot be written (${(error as Error).message})`)
    }
  }
  return parseSecretKey((await readFile(path, 'utf8')).trim(), path)
}
