import * as limits from '../../../generated/limits.ts'
import { KeyringError } from '../errors/local.ts'
import { checkKdfParameters, type KdfParameters } from './argon2.ts'
import { base64ToBytes } from './base64/decode.ts'
import { bytesToBase64 } from './base64/encode.ts'

/** The master key, encrypted under one wrapping key. */
export interface Wrap {
  nonce: Uint8Array
  wrappedKey: Uint8Array
}

/** A keyring, parsed. */
export interface Keyring {
  passphrase: Wrap & { parameters: KdfParameters; salt: Uint8Array }
  recovery: Wrap
  /** Once the keys were rotated: the master keys before the newest, the last of them first, wrapped together under it. */
  older?: (Wrap & { keyId: Uint8Array }) | undefined
}

export type Format = 'ebs/keyring/1' | 'ebs/keyring/2'

export function formatOf({ older }: Pick<Keyring, 'older'>): Format {
  return older ? 'ebs/keyring/2' : 'ebs/keyring/1'
}

/**
 * The keyring as JSON; bytes are base64: `{format, passphrase: {kdf, memory_kib, iterations, parallelism, salt, nonce,
 * wrapped_key}, recovery: {kdf, nonce, wrapped_key}}`, and once the keys were rotated `{key_id, older: {kdf, nonce,
 * wrapped_keys}}`. `key_id` tells a device that knows only older keys that there is a newer one.
 */
export function formatKeyring({ passphrase, recovery, older }: Keyring): string {
  const { keyId, nonce, wrappedKey } = older ?? {}
  return JSON.stringify({
    format: formatOf({ older }),
    ...(keyId && { key_id: bytesToBase64(keyId) }),
    passphrase: { ...passphrase.parameters, salt: bytesToBase64(passphrase.salt), ...formatWrap(passphrase) },
    recovery: { kdf: 'hkdf-sha256', ...formatWrap(recovery) },
    ...(nonce &&
      wrappedKey && {
        older: { kdf: 'hkdf-sha256', nonce: bytesToBase64(nonce), wrapped_keys: bytesToBase64(wrappedKey) },
      }),
  })
}

/** @throws KeyringError `malformed`, `unknown-version`, `weak-kdf`, `excessive-kdf` */
export function parseKeyring(text: string): Keyring {
  const { maxLength } = limits.Keyring.keyring
  if (text.length > maxLength) throw malformed(`it has more than ${maxLength} characters`)
  const keyring = fields('the keyring', parseJson(text))
  if (typeof keyring.format !== 'string') throw malformed('it has no format')
  const { format } = keyring
  if (format !== 'ebs/keyring/1' && format !== 'ebs/keyring/2') {
    throw new KeyringError(
      'unknown-version',
      `The keyring's format is ${format}; this client knows ebs/keyring/1 and 2`,
    )
  }
  const passphrase = fields('passphrase', keyring.passphrase)
  const recovery = fields('recovery', keyring.recovery)
  if (recovery.kdf !== 'hkdf-sha256') throw malformed('recovery.kdf is not hkdf-sha256')
  return {
    passphrase: {
      parameters: parseParameters(passphrase),
      salt: bytes('passphrase.salt', passphrase.salt, 16),
      ...parseWrap('passphrase', passphrase),
    },
    recovery: parseWrap('recovery', recovery),
    ...(format === 'ebs/keyring/2' && { older: parseOlder(keyring) }),
  }
}

type Fields = Record<string, unknown>

function formatWrap({ nonce, wrappedKey }: Wrap) {
  return { nonce: bytesToBase64(nonce), wrapped_key: bytesToBase64(wrappedKey) }
}

function parseWrap(name: string, wrap: Fields): Wrap {
  return {
    nonce: bytes(`${name}.nonce`, wrap.nonce, 24),
    wrappedKey: bytes(`${name}.wrapped_key`, wrap.wrapped_key, 48),
  }
}

function parseOlder({ key_id, older }: Fields): Keyring['older'] {
  const { kdf, nonce, wrapped_keys } = fields('older', older)
  if (kdf !== 'hkdf-sha256') throw malformed('older.kdf is not hkdf-sha256')
  const wrappedKey = typeof wrapped_keys === 'string' ? base64ToBytes(wrapped_keys) : undefined
  if (!wrappedKey || wrappedKey.length < 48 || wrappedKey.length % 32 !== 16) {
    throw malformed('older.wrapped_keys is not keys of 32 bytes and a tag in base64')
  }
  return { keyId: bytes('key_id', key_id, 8), nonce: bytes('older.nonce', nonce, 24), wrappedKey }
}

function parseParameters(wrap: Fields): KdfParameters {
  if (wrap.kdf !== 'argon2id') throw malformed('passphrase.kdf is not argon2id')
  const parameters: KdfParameters = {
    kdf: wrap.kdf,
    memory_kib: integer('passphrase.memory_kib', wrap.memory_kib),
    iterations: integer('passphrase.iterations', wrap.iterations),
    parallelism: integer('passphrase.parallelism', wrap.parallelism),
  }
  checkKdfParameters(parameters)
  return parameters
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed('it is not JSON')
  }
}

function fields(name: string, value: unknown): Fields {
  if (typeof value !== 'object' || value === null) throw malformed(`${name} is not an object`)
  return value as Fields
}

function integer(name: string, value: unknown): number {
  if (!Number.isSafeInteger(value)) throw malformed(`${name} is not an integer`)
  return value as number
}

function bytes(name: string, value: unknown, length: number): Uint8Array {
  const decoded = typeof value === 'string' ? base64ToBytes(value) : undefined
  if (decoded?.length !== length) throw malformed(`${name} is not ${length} bytes in base64`)
  return decoded
}

function malformed(reason: string): KeyringError {
  return new KeyringError('malformed', `The keyring is malformed: ${reason}`)
}
