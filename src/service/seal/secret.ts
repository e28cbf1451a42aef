import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseSecretKey } from '../config/config.ts'
import { ConfigError } from '../config/values.ts'

/** Development needs no SECRET_KEY: the first start generates one and stores it next to the data that it seals. */
export async function loadDevelopmentSecret(dataDir: string): Promise<Uint8Array> {
  const path = join(dataDir, 'secret.key')
  try {
    await mkdir(dataDir, { recursive: true })
    await writeFile(path, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw new ConfigError(`DATA_DIR: ${dataDir} cannot be written (${(error as Error).message})`)
    }
  }
  return parseSecretKey(await readSecret(path), `SECRET_KEY: ${path}`)
}

async function readSecret(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    throw new ConfigError(`SECRET_KEY: ${path} cannot be read (${(error as Error).message})`)
  }
}
