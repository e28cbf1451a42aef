import { utf8ToBytes } from '@noble/hashes/utils.js'
import { KeyringError, WrongKeyError } from '../errors/local.ts'
import { idForm, isId } from '../ids.ts'
import { NONCE_BYTES } from './aead/form.ts'
import { seal } from './aead/seal.ts'
import { open } from './aead.ts'
import { KDF_PARAMETERS, type KdfParameters, stretchPassphrase } from './argon2.ts'
import { bytesToBase64 } from './base64/encode.ts'
import { keyIdOf } from './derive.ts'
import { hkdfSha256 } from './hkdf.ts'
import { type Format, formatKeyring, formatOf, type Keyring, parseKeyring, type Wrap } from './keyring-format.ts'
import { formatRecoveryCode, parseRecoveryCode } from './recovery-code.ts'

/** What opens a user's keyring. `userId` is the service's `user_id`; the keyring is bound to it. */
export type Credentials = { userId: string } & ({ passphrase: string } | { recoveryCode: string })

/** A new user's keyring. */
export interface NewKeyring {
  /**
   * JSON to store with the service as `keyring`, at most 16,384 characters. Reveals nothing without the passphrase or the
   * recovery code.
   */
  keyring: string
  /** For `deriveKeys`: 32 random bytes, and after a rotation those of the older keys behind them. Must never leave the device. */
  masterKey: Uint8Array
  /**
   * 128 random bits for the user to print, in nine groups of three characters. Show it before storing the keyring: it
   * cannot be recovered from it.
   */
  recoveryCode: string
}

export async function createKeyring(owner: { userId: string; passphrase: string }): Promise<NewKeyring> {
  const masterKey = randomBytes(32)
  const { recovery, recoveryCode } = wrapUnderNewCode('ebs/keyring/1', masterKey, owner.userId)
  const passphrase = await wrapUnderPassphrase('ebs/keyring/1', masterKey, owner.userId, owner.passphrase)
  return { keyring: formatKeyring({ passphrase, recovery }), masterKey, recoveryCode }
}

export async function openKeyring(keyring: string, credentials: Credentials): Promise<Uint8Array> {
  return unwrapAll(parseKeyring(keyring), credentials)
}

export async function changePassphrase(keyring: string, current: Credentials, newPassphrase: string): Promise<string> {
  const parsed = parseKeyring(keyring)
  const masterKey = await unwrap(parsed, current)
  const passphrase = await wrapUnderPassphrase(formatOf(parsed), masterKey, current.userId, newPassphrase)
  return formatKeyring({ ...parsed, passphrase })
}

export async function newRecoveryCode(
  keyring: string,
  current: Credentials,
): Promise<Pick<NewKeyring, 'keyring' | 'recoveryCode'>> {
  const parsed = parseKeyring(keyring)
  const masterKey = await unwrap(parsed, current)
  const { recovery, recoveryCode } = wrapUnderNewCode(formatOf(parsed), masterKey, current.userId)
  return { keyring: formatKeyring({ ...parsed, recovery }), recoveryCode }
}

export async function rotateKeyring(keyring: string, current: Credentials, passphrase: string): Promise<NewKeyring> {
  const { userId } = current
  const older = await openKeyring(keyring, current)
  const masterKey = randomBytes(32)
  const format = 'ebs/keyring/2'
  const { recovery, recoveryCode } = wrapUnderNewCode(format, masterKey, userId)
  const parsed = {
    passphrase: await wrapUnderPassphrase(format, masterKey, userId, passphrase),
    recovery,
    older: { keyId: keyIdOf(masterKey), ...wrap(older, olderKey(masterKey), olderBinding(userId)) },
  }
  return { keyring: formatKeyring(parsed), masterKey: Uint8Array.of(...masterKey, ...older), recoveryCode }
}

/** All master keys, the newest first. */
async function unwrapAll(keyring: Keyring, credentials: Credentials): Promise<Uint8Array> {
  const masterKey = await unwrap(keyring, credentials)
  if (!keyring.older) return masterKey
  const { nonce, wrappedKey } = keyring.older
  const older = open(olderKey(masterKey), nonce, olderBinding(credentials.userId), wrappedKey)
  if (older === undefined) throw new KeyringError('malformed', 'The older keys of the keyring were altered')
  return Uint8Array.of(...masterKey, ...older)
}

/** The newest master key. */
async function unwrap(keyring: Keyring, credentials: Credentials): Promise<Uint8Array> {
  const { passphrase, recovery } = keyring
  const format = formatOf(keyring)
  if ('recoveryCode' in credentials) {
    const key = recoveryKey(parseRecoveryCode(credentials.recoveryCode))
    const masterKey = open(key, recovery.nonce, recoveryBinding(format, credentials.userId), recovery.wrappedKey)
    if (masterKey === undefined) throw doesNotOpen('wrong-recovery-code', 'recovery code')
    return masterKey
  }
  const associatedData = passphraseBinding(format, credentials.userId, passphrase.parameters, passphrase.salt)
  const key = await stretchPassphrase(credentials.passphrase, passphrase.salt, passphrase.parameters)
  const masterKey = open(key, passphrase.nonce, associatedData, passphrase.wrappedKey)
  if (masterKey === undefined) throw doesNotOpen('wrong-passphrase', 'passphrase')
  return masterKey
}

function wrapUnderNewCode(format: Format, masterKey: Uint8Array, userId: string) {
  const code = randomBytes(16)
  const recovery = wrap(masterKey, recoveryKey(code), recoveryBinding(format, userId))
  return { recovery, recoveryCode: formatRecoveryCode(code) }
}

async function wrapUnderPassphrase(format: Format, masterKey: Uint8Array, userId: string, passphrase: string) {
  const parameters = KDF_PARAMETERS
  const salt = randomBytes(16)
  const associatedData = passphraseBinding(format, userId, parameters, salt)
  const key = await stretchPassphrase(passphrase, salt, parameters)
  return { parameters, salt, ...wrap(masterKey, key, associatedData) }
}

function wrap(masterKey: Uint8Array, key: Uint8Array, associatedData: Uint8Array): Wrap {
  const nonce = randomBytes(NONCE_BYTES)
  return { nonce, wrappedKey: seal(key, nonce, associatedData, masterKey) }
}

function recoveryKey(code: Uint8Array): Uint8Array {
  return hkdfSha256(code, 'ebs/recovery/1')
}

function olderKey(masterKey: Uint8Array): Uint8Array {
  return hkdfSha256(masterKey, 'ebs/older/1')
}

function olderBinding(userId: string): Uint8Array {
  return binding('ebs/keyring/2', userId, 'older')
}

function recoveryBinding(format: Format, userId: string): Uint8Array {
  return binding(format, userId, 'hkdf-sha256')
}

function passphraseBinding(format: Format, userId: string, parameters: KdfParameters, salt: Uint8Array): Uint8Array {
  const { kdf, memory_kib, iterations, parallelism } = parameters
  return binding(format, userId, kdf, memory_kib, iterations, parallelism, bytesToBase64(salt))
}

function binding(format: Format, userId: string, ...kdf: (string | number)[]): Uint8Array {
  if (!isId(userId)) throw new TypeError(`userId must be ${idForm}`)
  return utf8ToBytes([format, userId, ...kdf].join('\0'))
}

function doesNotOpen(fault: 'wrong-passphrase' | 'wrong-recovery-code', what: string): WrongKeyError {
  return new WrongKeyError(fault, `Wrong ${what}, or the vault was altered`)
}

function randomBytes(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length))
}
