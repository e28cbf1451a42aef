import { utf8ToBytes } from '@noble/hashes/utils.js'
import * as limits from '../../../generated/keyring-limits.ts'
import { onDemand } from '../api/unwrap.ts'
import { KeyringError, UnsupportedError, WeakPassphraseError, WrongKeyError } from '../errors.ts'
import { idForm, isId } from '../ids.ts'
import { NONCE_BYTES, open, seal } from './aead.ts'
import { base64ToBytes, bytesToBase64 } from './base64.ts'
import { hkdfSha256, hmacSha256 } from './hashes.ts'
import { deriveKeys, type Keys, keyIdOf } from './keys.ts'
import { formatRecoveryCode, parseRecoveryCode } from './recovery-code.ts'

/** A passphrase or a recovery code opens the keyring of its user. `userId` is the service's `user_id`; the keyring is bound to it. */
export type Credentials = { userId: string } & ({ passphrase: string } | { recoveryCode: string })

/** The rules for a new passphrase. */
export interface PassphraseRules {
  /** Names and addresses that somebody who knows the person would try first: their words do not make a passphrase stronger. */
  known?: readonly string[] | undefined
  /**
   * The passphrase is refused if `judgePassphrase` estimates fewer guesses. Default: 10⁸. With 0, any passphrase that is not
   * empty is accepted, and no dictionary is loaded.
   */
  fewestGuesses?: number | undefined
}

/** A user whose keys get a new passphrase. */
export interface NewOwner extends PassphraseRules {
  userId: string
  passphrase: string
}

/** A new keyring, its master key, and the recovery code that opens it. */
export interface NewKeyring {
  /**
   * JSON to store with the service as `keyring`, at most 16,384 characters. Reveals no key without the passphrase or the
   * recovery code.
   */
  keyring: string
  /** For `deriveKeys`: 32 random bytes; after a rotation, the older keys follow. Must never leave the device. */
  masterKey: Uint8Array
  /**
   * 128 random bits for the user to print, in nine groups of three, with a check symbol. Show it before storing the
   * keyring, which does not reveal it.
   */
  recoveryCode: string
}

export async function createKeyring(owner: NewOwner): Promise<NewKeyring> {
  return wrapAll(randomBytes(32), undefined, owner)
}

export async function openKeyring(keyring: string, credentials: Credentials): Promise<Uint8Array> {
  return unwrapAll(parseKeyring(keyring), credentials)
}

export async function changePassphrase(
  keyring: string,
  current: Credentials,
  newPassphrase: string,
  rules?: PassphraseRules,
): Promise<string> {
  const parsed = parseKeyring(keyring)
  const masterKey = await unwrapGenuine(parsed, current)
  const passphrase = await wrapUnderPassphrase(formatOf(parsed), masterKey, {
    ...rules,
    userId: current.userId,
    passphrase: newPassphrase,
  })
  return authenticated({ ...parsed, passphrase }, masterKey, current.userId)
}

export async function newRecoveryCode(
  keyring: string,
  current: Credentials,
): Promise<Pick<NewKeyring, 'keyring' | 'recoveryCode'>> {
  const parsed = parseKeyring(keyring)
  const masterKey = await unwrapGenuine(parsed, current)
  const { recovery, recoveryCode } = wrapUnderNewCode(formatOf(parsed), masterKey, current.userId)
  return { keyring: authenticated({ ...parsed, recovery }, masterKey, current.userId), recoveryCode }
}

/**
 * Wraps a device's master keys in a new keyring, for a vault whose keyring does not open. An attacker who has the old
 * keyring can still try to guess its passphrase.
 */
export async function rewrap(masterKey: Uint8Array, owner: NewOwner): Promise<NewKeyring> {
  const [newest, older] = [masterKey.slice(0, 32), masterKey.slice(32)]
  return wrapAll(newest, older.length > 0 ? older : undefined, owner)
}

/** Wraps a new master key in a new keyring, in which the given keys are the older ones. */
export async function wrapUnderNewKey(older: Uint8Array, owner: NewOwner): Promise<NewKeyring> {
  return wrapAll(randomBytes(32), older, owner)
}

export async function rotateKeyring(
  keyring: string,
  current: Credentials,
  passphrase: string,
  rules?: PassphraseRules,
): Promise<NewKeyring> {
  return wrapUnderNewKey(await openKeyring(keyring, current), { ...rules, userId: current.userId, passphrase })
}

/**
 * Checks that these keys made the keyring. Keyrings have a MAC since version 3.0 of this package.
 *
 * @returns false if it has no MAC: then only its form was checked
 * @throws KeyringError `malformed`, `unknown-version`, `weak-kdf`, `excessive-kdf`, `altered`; `keys-replaced`: it names
 *   another key than the newest of these
 */
export function isAuthentic(text: string, userId: string, keys: Keys): boolean {
  const keyring = parseKeyring(text)
  if (bytesToBase64(keyring.older?.keyId ?? Uint8Array.of()) !== bytesToBase64(keys.prefix.subarray(1))) {
    throw new KeyringError('keys-replaced', 'The keyring is not the one of these keys: open the vault again')
  }
  requireGenuine(keyring, userId, keys)
  return keyring.mac !== undefined
}

/** @param older the master keys before the newest, if the keys were rotated */
async function wrapAll(newest: Uint8Array, older: Uint8Array | undefined, owner: NewOwner): Promise<NewKeyring> {
  const format: Format = older ? 'ebs/keyring/2' : 'ebs/keyring/1'
  const { recovery, recoveryCode } = wrapUnderNewCode(format, newest, owner.userId)
  const parsed = {
    passphrase: await wrapUnderPassphrase(format, newest, owner),
    recovery,
    older: older && { keyId: keyIdOf(newest), ...wrap(older, olderKey(newest), olderBinding(owner.userId)) },
  }
  const keyring = authenticated(parsed, newest, owner.userId)
  return { keyring, masterKey: Uint8Array.of(...newest, ...(older ?? [])), recoveryCode }
}

/** All master keys, the newest first. */
async function unwrapAll(keyring: Keyring, credentials: Credentials): Promise<Uint8Array> {
  const masterKey = await unwrap(keyring, credentials)
  if (!keyring.older) return masterKey
  const { nonce, wrappedKey, keyId } = keyring.older
  const older = open(olderKey(masterKey), nonce, olderBinding(credentials.userId), wrappedKey)
  if (older === undefined) throw new KeyringError('malformed', 'The older keys of the keyring were altered')
  // Checked here, because no wrap's tag covers the key id, from which devices learn that the keys were replaced.
  if (bytesToBase64(keyId) !== bytesToBase64(keyIdOf(masterKey)))
    throw new KeyringError('malformed', "The keyring's key_id is not that of its newest key")
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

/** The newest master key, to make the next keyring from this one. @throws KeyringError `altered` */
async function unwrapGenuine(keyring: Keyring, credentials: Credentials): Promise<Uint8Array> {
  const masterKey = await unwrap(keyring, credentials)
  // Checked first: the next keyring copies the wrap that was not opened, and the next MAC vouches for that wrap.
  requireGenuine(keyring, credentials.userId, deriveKeys(masterKey))
  return masterKey
}

function wrapUnderNewCode(format: Format, masterKey: Uint8Array, userId: string) {
  const code = randomBytes(16)
  const recovery = wrap(masterKey, recoveryKey(code), recoveryBinding(format, userId))
  return { recovery, recoveryCode: formatRecoveryCode(code) }
}

async function wrapUnderPassphrase(format: Format, masterKey: Uint8Array, owner: NewOwner) {
  const { userId, passphrase } = owner
  await requireStrength(owner)
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

/** @throws KeyringError `altered` */
function requireGenuine(keyring: Keyring, userId: string, { keyringKey }: Keys): void {
  if (keyring.mac && bytesToBase64(keyring.mac) !== bytesToBase64(macOf(keyring, userId, keyringKey))) {
    throw new KeyringError('altered', 'The keyring was not made with these keys, or was altered: repair the vault')
  }
}

function authenticated(keyring: Keyring, masterKey: Uint8Array, userId: string): string {
  return formatKeyring({ ...keyring, mac: macOf(keyring, userId, deriveKeys(masterKey).keyringKey) })
}

/** Covers every field, in the order of the JSON. */
function macOf({ passphrase, recovery, older }: Keyring, userId: string, keyringKey: Uint8Array): Uint8Array {
  const { kdf, memory_kib, iterations, parallelism } = passphrase.parameters
  const formatted = (wrap: Wrap) => [bytesToBase64(wrap.nonce), bytesToBase64(wrap.wrappedKey)]
  const covered = binding(
    formatOf({ older }),
    userId,
    ...(older ? [bytesToBase64(older.keyId)] : []),
    kdf,
    memory_kib,
    iterations,
    parallelism,
    bytesToBase64(passphrase.salt),
    ...formatted(passphrase),
    'hkdf-sha256',
    ...formatted(recovery),
    ...(older ? ['hkdf-sha256', ...formatted(older)] : []),
  )
  return hmacSha256(keyringKey, covered)
}

function doesNotOpen(fault: 'wrong-passphrase' | 'wrong-recovery-code', what: string): WrongKeyError {
  return new WrongKeyError(fault, `Wrong ${what}, or the vault was altered`)
}

function randomBytes(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length))
}

/** Parameters of Argon2id (RFC 9106). */
interface KdfParameters {
  kdf: 'argon2id'
  memory_kib: number
  iterations: number
  parallelism: number
}

/** The parameters for new passphrases: about a third of a second on a laptop. */
const KDF_PARAMETERS: KdfParameters = { kdf: 'argon2id', memory_kib: 65_536, iterations: 3, parallelism: 1 }

/** @throws WeakPassphraseError; OfflineError the dictionaries did not arrive */
async function requireStrength({ passphrase, known = [], fewestGuesses }: NewOwner): Promise<void> {
  if (passphrase === '' || fewestGuesses === 0) return
  const { judge } = await onDemand(import('./judge.ts'))
  const { guesses, level, advice } = judge(passphrase, known)
  const isWeak = fewestGuesses === undefined ? level === 'refused' : guesses < fewestGuesses
  if (isWeak) throw new WeakPassphraseError(advice)
}

/**
 * Derives a 32-byte key from a passphrase (Unicode NFKC, UTF-8). The first call loads the WebAssembly of Argon2id.
 *
 * @throws KeyringError `empty-passphrase`; UnsupportedError WebAssembly is missing or forbidden; OfflineError it did not arrive
 */
async function stretchPassphrase(passphrase: string, salt: Uint8Array, parameters: KdfParameters) {
  if (passphrase === '') throw new KeyringError('empty-passphrase', 'The passphrase is empty')
  const { argon2id } = await onDemand(import('./argon2id.ts'))
  const derived = argon2id({
    password: utf8ToBytes(passphrase.normalize('NFKC')),
    salt,
    memorySize: parameters.memory_kib,
    iterations: parameters.iterations,
    parallelism: parameters.parallelism,
    hashLength: 32,
    outputType: 'binary',
  })
  return derived.catch((cause) => {
    const isForbidden = cause instanceof (globalThis.WebAssembly?.CompileError ?? Error)
    throw isForbidden ? new UnsupportedError('WebAssembly') : cause
  })
}

/** One or more master keys, encrypted under one wrapping key. */
interface Wrap {
  nonce: Uint8Array
  wrappedKey: Uint8Array
}

/** A keyring, parsed. */
interface Keyring {
  passphrase: Wrap & { parameters: KdfParameters; salt: Uint8Array }
  recovery: Wrap
  /** After a rotation: the older master keys, the newest first, wrapped together under the newest one. */
  older?: (Wrap & { keyId: Uint8Array }) | undefined
  /** HMAC of all fields by the newest `keyringKey`. Keyrings of clients before 3.0 have none. */
  mac?: Uint8Array | undefined
}

type Format = 'ebs/keyring/1' | 'ebs/keyring/2'

function formatOf({ older }: Pick<Keyring, 'older'>): Format {
  return older ? 'ebs/keyring/2' : 'ebs/keyring/1'
}

/**
 * The keyring as JSON; bytes are base64: `{format, passphrase: {kdf, memory_kib, iterations, parallelism, salt, nonce,
 * wrapped_key}, recovery: {kdf, nonce, wrapped_key}}`, after a rotation also `{key_id, older: {kdf, nonce,
 * wrapped_keys}}`, and `mac`. A device whose newest key has another id than `key_id` knows that the keys were replaced.
 */
function formatKeyring({ passphrase, recovery, older, mac }: Keyring): string {
  const wrappedOlder = older && { nonce: bytesToBase64(older.nonce), wrapped_keys: bytesToBase64(older.wrappedKey) }
  return JSON.stringify({
    format: formatOf({ older }),
    ...(older && { key_id: bytesToBase64(older.keyId) }),
    passphrase: { ...passphrase.parameters, salt: bytesToBase64(passphrase.salt), ...formatWrap(passphrase) },
    recovery: { kdf: 'hkdf-sha256', ...formatWrap(recovery) },
    ...(wrappedOlder && { older: { kdf: 'hkdf-sha256', ...wrappedOlder } }),
    ...(mac && { mac: bytesToBase64(mac) }),
  })
}

/** @throws KeyringError `malformed`, `unknown-version`, `weak-kdf`, `excessive-kdf` */
function parseKeyring(text: string): Keyring {
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
    ...(keyring.mac !== undefined && { mac: bytes('mac', keyring.mac, 32) }),
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

/** @throws KeyringError `malformed`, `weak-kdf`, `excessive-kdf`, naming the parameter */
function parseParameters(wrap: Fields): KdfParameters {
  if (wrap.kdf !== 'argon2id') throw malformed('passphrase.kdf is not argon2id')
  // The keyring comes from the service. Weaker parameters would let it guess the passphrase, stronger ones stall the client.
  const accepted = (name: Exclude<keyof KdfParameters, 'kdf'>) => {
    const { minimum: least, maximum: most } = limits.PassphraseWrap[name]
    const value = wrap[name]
    if (!Number.isSafeInteger(value)) throw malformed(`passphrase.${name} is not an integer`)
    const fault = Number(value) < least ? 'weak-kdf' : Number(value) > most ? 'excessive-kdf' : undefined
    if (fault) throw new KeyringError(fault, `The keyring's ${name} is ${value}; ${least} to ${most} is accepted`)
    return Number(value)
  }
  const [memory_kib, iterations] = [accepted('memory_kib'), accepted('iterations')]
  return { kdf: wrap.kdf, memory_kib, iterations, parallelism: accepted('parallelism') }
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

function bytes(name: string, value: unknown, length: number): Uint8Array {
  const decoded = typeof value === 'string' ? base64ToBytes(value) : undefined
  if (decoded?.length !== length) throw malformed(`${name} is not ${length} bytes in base64`)
  return decoded
}

function malformed(reason: string): KeyringError {
  return new KeyringError('malformed', `The keyring is malformed: ${reason}`)
}
