import { createHash, hkdfSync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import { parseSecretKey } from '../config/config.ts'
import { makeFolder } from '../config/folders.ts'
import { ConfigError } from '../config/values.ts'

/** A sealed value is bound to these, and does not open in another row, for another user or for another purpose. */
export interface Binding {
  purpose: 'login-attempts' | 'provider-token' | 'export-key' | 'keyring-version'
  userId: string
  rowId: string
}

export interface Seal {
  seal(value: Uint8Array, binding: Binding): string
  /** Null if the value was altered, has another binding, or was sealed with a key that is no longer listed. */
  open(sealed: string, binding: Binding): Uint8Array | null
}

const keyIdLength = 8
const nonceLength = 24

/** Sealed = key id || nonce || XChaCha20-Poly1305, in base64url. The first key seals, all of them open. */
export function createSeal(secretKeys: Uint8Array[]): Seal {
  const keys = secretKeys.map((secret) => ({ id: keyId(secret), secret }))
  const [current] = keys
  if (!current) throw new Error('at least one secret key is required')
  return {
    seal(value, binding) {
      const nonce = randomBytes(nonceLength)
      const box = cipher(current.secret, binding, nonce).encrypt(value)
      return Buffer.concat([current.id, nonce, box]).toString('base64url')
    },
    open(sealed, binding) {
      const bytes = Buffer.from(sealed, 'base64url')
      const key = keys.find(({ id }) => id.equals(bytes.subarray(0, keyIdLength)))
      if (!key || bytes.length < keyIdLength + nonceLength) return null
      const nonce = bytes.subarray(keyIdLength, keyIdLength + nonceLength)
      try {
        return cipher(key.secret, binding, nonce).decrypt(bytes.subarray(keyIdLength + nonceLength))
      } catch {
        return null
      }
    },
  }
}

function cipher(secret: Uint8Array, { purpose, userId, rowId }: Binding, nonce: Uint8Array) {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', `ebs/seal/${purpose}`, 32))
  return xchacha20poly1305(key, nonce, Buffer.from([purpose, userId, rowId].join('\0')))
}

function keyId(secret: Uint8Array): Buffer {
  return createHash('sha256').update('ebs/seal-key-id').update(secret).digest().subarray(0, keyIdLength)
}

/** Development needs no SECRET_KEY: the first start generates one and stores it next to the data. */
export async function loadDevelopmentSecret(dataDir: string): Promise<Uint8Array> {
  const path = join(dataDir, 'secret.key')
  try {
    await makeFolder(dataDir)
    await writeFile(path, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw new ConfigError(`DATA_DIR: ${dataDir} cannot be written (${(error as Error).message})`)
    }
  }
  return parseSecretKey(await readSecret(path), `SECRET_KEY: ${path}`)
}

/** The generated secret, if it exists. A new one would open nothing. */
export async function existingSecret(dataDir: string): Promise<[Uint8Array] | undefined> {
  return existsSync(join(dataDir, 'secret.key')) ? [await loadDevelopmentSecret(dataDir)] : undefined
}

async function readSecret(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    throw new ConfigError(`SECRET_KEY: ${path} cannot be read (${(error as Error).message})`)
  }
}
