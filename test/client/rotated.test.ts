/** The formats of a vault whose keys were rotated. */
import t from 'tap'
import { deriveInFull } from '../../scripts/test/argon2id.ts'
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { changePassphrase, newRecoveryCode, openKeyring, rotateKeyring } from '../../src/client/crypto/keyring.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { decryptBookmark, encryptBookmark } from '../../src/client/crypto/record.ts'
import { openExport } from '../../src/client/export-file/export-file.ts'
import { depth } from '../support/depth.ts'
import { keys as exportersKeys, exportOfSize, makeBookmarks } from './export-samples.ts'
import {
  fromHex,
  hkdf,
  type KeyringJson,
  keyId,
  olderBinding,
  open,
  openRecord,
  passphraseBinding,
  passphraseKey,
  recoveryBinding,
  recoveryBytes,
  seal,
  sealRecord,
  subKeys,
} from './second-implementation.ts'
import { readVectors } from './vectors.ts'

interface Case {
  label: string
  key_id: string | null
  nonce: string
  encrypted_data: string
  data_hash: string
}

const vector = readVectors<{
  user_id: string
  passphrase: string
  recovery_code: string
  master_key: string
  keyring: string
  bookmark: PlaintextBookmark
  json: string
  cases: Case[]
}>('rotated')
const { user_id: userId, passphrase, recovery_code: recoveryCode, keyring, bookmark } = vector
const masterKey = new Uint8Array(fromHex(vector.master_key))
const masters = [masterKey.subarray(0, 32), masterKey.subarray(32, 64), masterKey.subarray(64)] as const
const keys = deriveKeys(masterKey)
const wrongCode = { name: 'WrongKeyError', fault: 'wrong-recovery-code' }

t.test('vector: the opened keyring has all master keys, the newest first', async (t) => {
  deriveInFull(t)
  t.same(await openKeyring(keyring, { userId, recoveryCode }), masterKey)
  if (depth(0, 1)) t.same(await openKeyring(keyring, { userId, passphrase }), masterKey)
})

t.test('vector: libsodium and OpenSSL wrap to the same bytes', async (t) => {
  const parsed = JSON.parse(keyring) as Required<KeyringJson>
  const { format, passphrase: outer, recovery, older, key_id } = parsed
  const [newest, ...before] = masters
  const wrapped = (key: Uint8Array, nonce: string, binding: string, what: Uint8Array) =>
    seal(key, Buffer.from(nonce, 'base64'), binding, what).toString('base64')
  const passphraseWrap = passphraseBinding(userId, outer, format)
  t.same(
    [
      wrapped(passphraseKey(passphrase, outer), outer.nonce, passphraseWrap, newest),
      wrapped(
        hkdf(recoveryBytes(recoveryCode), 'ebs/recovery/1'),
        recovery.nonce,
        recoveryBinding(userId, format),
        newest,
      ),
      wrapped(hkdf(newest, 'ebs/older/1'), older.nonce, olderBinding(userId), Buffer.concat(before)),
      keyId(newest).toString('base64'),
    ],
    [outer.wrapped_key, recovery.wrapped_key, older.wrapped_keys, key_id],
  )
})

for (const [index, { label, key_id, nonce, ...record }] of vector.cases.entries()) {
  t.test(`vector: a record under ${label}`, async (t) => {
    const { id } = bookmark
    const [key, named] = [subKeys(masters[index] as Uint8Array), key_id === null ? undefined : fromHex(key_id)]
    t.same(sealRecord(key, 'bookmark', id, vector.json, fromHex(nonce), named), record, 'libsodium makes the same')
    t.same(decryptBookmark(keys, { id, ...record }), bookmark, 'the whole keyring opens it')
    const upToIt = deriveKeys(masterKey.subarray(32 * index))
    const ours = encryptBookmark(upToIt, bookmark)
    t.equal(ours.data_hash, record.data_hash)
    t.equal(openRecord(key, 'bookmark', id, ours, named).trimEnd(), vector.json, 'libsodium opens ours')
    t.equal(ours.encrypted_data.startsWith(record.encrypted_data.slice(0, 12)), key_id !== null)
    const before = index === 2 ? undefined : deriveKeys(masterKey.subarray(32 * (index + 1)))
    if (before)
      t.throws(() => decryptBookmark(before, { id, ...record }), { name: 'RecordError', fault: 'unknown-key' })
  })
}

t.test('a rotation makes a new key, which neither the old recovery code nor an old key opens', async (t) => {
  const first = readVectors<{ recovery_code: string; keyring: string; master_key: string }>('keyring')
  const old = { userId, recoveryCode: first.recovery_code }
  const made = await rotateKeyring(first.keyring, old, 'battery staple')
  t.same(made.masterKey.subarray(32), new Uint8Array(fromHex(first.master_key)))
  t.same(await openKeyring(made.keyring, { userId, recoveryCode: made.recoveryCode }), made.masterKey)
  await t.rejects(openKeyring(made.keyring, old), wrongCode)
  const { older, passphrase: outer, recovery } = JSON.parse(made.keyring) as Required<KeyringJson>
  for (const info of ['ebs/older/1', 'ebs/recovery/1', 'ebs/record/1']) {
    const key = hkdf(fromHex(first.master_key), info)
    for (const { nonce, wrapped } of [
      { ...older, wrapped: older.wrapped_keys },
      { ...outer, wrapped: outer.wrapped_key },
      { ...recovery, wrapped: recovery.wrapped_key },
    ]) {
      for (const binding of [olderBinding(userId), passphraseBinding(userId, outer, 'ebs/keyring/2')]) {
        t.throws(() => open(key, Buffer.from(nonce, 'base64'), binding, Buffer.from(wrapped, 'base64')))
      }
    }
  }
})

t.test('in a rotated keyring, a new recovery code or passphrase replaces the old, and all keys stay', async (t) => {
  const replaced = await newRecoveryCode(keyring, { userId, recoveryCode })
  await t.rejects(openKeyring(replaced.keyring, { userId, recoveryCode }), wrongCode)
  const current = { userId, recoveryCode: replaced.recoveryCode }
  const changed = await changePassphrase(replaced.keyring, current, 'another passphrase')
  t.same(await openKeyring(changed, current), masterKey)
  const [before, after] = [JSON.parse(keyring) as KeyringJson, JSON.parse(changed) as KeyringJson]
  t.same([after.format, after.key_id, after.older], [before.format, before.key_id, before.older])
  t.not(after.passphrase.salt, before.passphrase.salt)
})

t.test('a keyring whose older keys are altered or malformed is refused', async (t) => {
  const refused = (change: (keyring: Required<KeyringJson>) => void, message: RegExp) => {
    const parsed = JSON.parse(keyring) as Required<KeyringJson>
    change(parsed)
    const error = { name: 'KeyringError', fault: 'malformed', message }
    return t.rejects(openKeyring(JSON.stringify(parsed), { userId, recoveryCode }), error, String(message))
  }
  await refused((keyring) => (keyring.older.nonce = Buffer.alloc(24).toString('base64')), /older keys .* altered/)
  await refused((keyring) => (keyring.older.wrapped_keys = 'AAAA'), /older.wrapped_keys/)
  await refused((keyring) => (keyring.older.kdf = 'none'), /older.kdf/)
  await refused((keyring) => (keyring.key_id = 'AAAA'), /key_id is not 8 bytes/)
  await refused((keyring) => (keyring.key_id = 'AAAAAAAAAAA='), /key_id is not that of its newest key/)
  await refused((keyring) => Reflect.deleteProperty(keyring, 'older'), /older is not an object/)
})

t.test('an export from before a rotation opens with the keys after it', async (t) => {
  const rotated = { ...keys, older: { ...exportersKeys } }
  const file = new Blob([Uint8Array.from(exportOfSize())])
  const { bookmarks } = await openExport(file, { exportKey: rotated.exportKey, keys: rotated })
  t.same(bookmarks, makeBookmarks(2))
  await t.rejects(openExport(file, { exportKey: keys.exportKey, keys }), { name: 'ExportError', fault: 'other-key' })
})
