/** The file of `createBackup`, opened without a service. With recovery codes, which take much less time than passphrases. */
import t from 'tap'
import { deriveInFull } from '../../scripts/test/argon2id.ts'
import type { OpenedExport } from '../../src/client/bookmark.ts'
import { createKeyring } from '../../src/client/crypto/keyring.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { openBackup } from '../../src/client/export-file/backup.ts'
import { joinBackup, splitBackup } from '../../src/client/export-file/saved-backup.ts'
import { depth } from '../support/depth.ts'
import { keys as exportersKeys, exportJson, exportOfSize, makeBookmarks, prefix } from './export-samples.ts'
import { fromHex, subKeys, writeBackup, writeExport } from './second-implementation.ts'
import { readVectors } from './vectors.ts'

const vector = readVectors<{
  user_id: string
  passphrase: string
  recovery_code: string
  master_key: string
  keyring: string
  prefix: string
  json: string
  file: string
  opened: OpenedExport
  all_types: { prefix: string; json: string; file: string; opened: OpenedExport }
}>('saved-backup')
const { user_id: userId, passphrase, recovery_code: recoveryCode, keyring, opened } = vector
const bytes = Uint8Array.from(Buffer.from(vector.file, 'base64'))
const file = new Blob([bytes])
const masterKey = Uint8Array.from(fromHex(vector.master_key))
const headBytes = 8 + userId.length + keyring.length + 32
const damaged = { name: 'ExportError', fault: 'damaged' }

t.test('vector: keys, passphrase and code open a backup from before a rotation of the keys', async (t) => {
  deriveInFull(t)
  for (const unlocker of [deriveKeys(masterKey), { recoveryCode }, { passphrase }]) {
    t.same(await openBackup(file, unlocker), opened)
  }
})

t.test('vector: libsodium and OpenSSL write the same backup, and so does the client from the export', async (t) => {
  const second = fromHex(subKeys(masterKey.subarray(32, 64)).export_key)
  const exported = writeExport(second, fromHex(vector.prefix), vector.json)
  t.same(writeBackup(userId, keyring, exported), Buffer.from(bytes))
  const joined = joinBackup({ userId, keyring }, new Blob([Uint8Array.from(exported)]))
  t.same(new Uint8Array(await joined.arrayBuffer()), bytes)
  const { exported: inside, carried } = await splitBackup(joined)
  t.same([new Uint8Array(await inside.arrayBuffer()), carried], [Uint8Array.from(exported), { userId, keyring }])
})

t.test('vector: a backup with tab groups and history', async (t) => {
  const { prefix, json, file, opened } = vector.all_types
  const second = fromHex(subKeys(masterKey.subarray(32, 64)).export_key)
  const written = writeBackup(userId, keyring, writeExport(second, fromHex(prefix), json))
  t.same(written, Buffer.from(file, 'base64'))
  t.same(await openBackup(new Blob([Uint8Array.from(written)]), { recoveryCode }), opened)
  t.match(opened, { groups: [{ color: 'blue' }, { parentId: 'g' }], history: [{ visitCount: 2 }] })
  for (const list of ['bookmarks', 'history']) {
    const passedOff = json.replace('"groups":', '"x":').replace(`"${list}":`, '"groups":')
    const forged = writeBackup(userId, keyring, writeExport(second, fromHex(prefix), passedOff))
    await t.rejects(openBackup(new Blob([Uint8Array.from(forged)]), { recoveryCode }), { name: 'RecordError' }, list)
  }
})

t.test('a backup that is cut anywhere, or in which any byte is altered, does not open', async (t) => {
  const keys = deriveKeys(masterKey)
  const opening = (part: Blob, unlocker: Parameters<typeof openBackup>[1]) =>
    openBackup(part, unlocker).catch(({ name, fault }) => `${name} ${fault}`)
  const found: Record<string, unknown> = {}
  const expected: Record<string, string> = {}
  for (let length = 0; length < bytes.length; length += length < headBytes ? 1 : depth(3, 1)) {
    for (const [by, unlocker] of Object.entries({ code: { recoveryCode }, keys })) {
      expected[`${length} bytes, by ${by}`] = length < 4 ? 'ExportError not-an-export' : 'ExportError damaged'
      found[`${length} bytes, by ${by}`] = await opening(file.slice(0, length), unlocker)
    }
  }
  for (let index = 0; index < bytes.length; index += index < headBytes ? 1 : depth(3, 1)) {
    const altered = bytes.slice()
    altered[index] = (altered[index] ?? 0) ^ 1
    found[`byte ${index}`] = await opening(new Blob([altered]), { recoveryCode })
    const inExport = index - headBytes
    expected[`byte ${index}`] =
      index < 4
        ? 'ExportError not-an-export'
        : index === 4 || inExport === 4
          ? 'ExportError unknown-version'
          : inExport > 4 && inExport < 13
            ? 'ExportError other-keyring'
            : 'ExportError damaged'
  }
  t.same(found, expected)
})

t.test('a backup with another user’s keyring is refused, and does not show the other user’s bookmarks', async (t) => {
  const { exported } = await splitBackup(file)
  const eve = await createKeyring({ userId: 'eve', passphrase: 'of eve', fewestGuesses: 0 })
  const joined = joinBackup({ userId: 'eve', keyring: eve.keyring }, exported)
  await t.rejects(openBackup(joined, { recoveryCode }), { name: 'WrongKeyError', fault: 'wrong-recovery-code' })
  await t.rejects(openBackup(joined, { passphrase }), { name: 'WrongKeyError', fault: 'wrong-passphrase' })
  const theirs = { recoveryCode: eve.recoveryCode }
  await t.rejects(openBackup(joined, theirs), { name: 'ExportError', fault: 'other-keyring' })
  const evesKeys = deriveKeys(eve.masterKey)
  await t.rejects(openBackup(joined, evesKeys), { name: 'ExportError', fault: 'passphrase-needed' })
  t.same(await openBackup(joined, deriveKeys(masterKey)), opened, "the vault's keys need no keyring")

  const asEve = joinBackup({ userId: 'eve', keyring }, exported)
  await t.rejects(
    openBackup(asEve, { recoveryCode }),
    { name: 'WrongKeyError', fault: 'wrong-recovery-code' },
    'a keyring is bound to its user',
  )
  const evesExport = new Blob([Uint8Array.from(exportOfSize())])
  const mixed = joinBackup({ userId, keyring }, evesExport)
  await t.rejects(
    openBackup(mixed, { recoveryCode }),
    { name: 'ExportError', fault: 'other-keyring' },
    "another user's export",
  )
  // The service has the export key and so can write such a file, but its bookmarks are under another key.
  const second = fromHex(subKeys(masterKey.subarray(32, 64)).export_key)
  const forged = writeBackup(userId, keyring, writeExport(second, prefix, exportJson(makeBookmarks(2))))
  await t.rejects(openBackup(new Blob([Uint8Array.from(forged)]), { recoveryCode }), { name: 'RecordError' })
})

t.test('a keyring with excessive or weak parameters is refused before a key is derived', async (t) => {
  deriveInFull(t)
  const { exported } = await splitBackup(file)
  const withParameter = (name: string, value: number) => {
    const changed = JSON.parse(keyring)
    changed.passphrase[name] = value
    return openBackup(joinBackup({ userId, keyring: JSON.stringify(changed) }, exported), { passphrase })
  }
  await t.rejects(withParameter('memory_kib', 4_194_304), { name: 'KeyringError', fault: 'excessive-kdf' })
  await t.rejects(withParameter('iterations', 1000), { name: 'KeyringError', fault: 'excessive-kdf' })
  await t.rejects(withParameter('memory_kib', 8), { name: 'KeyringError', fault: 'weak-kdf' })
  await t.rejects(withParameter('iterations', 4), { name: 'WrongKeyError' }, 'the parameters are bound to the key')
  const rest = Uint8Array.from(Buffer.from(await exported.arrayBuffer()))
  const long = writeBackup(userId, keyring.padEnd(16_385), rest)
  await t.rejects(openBackup(new Blob([Uint8Array.from(long)]), { recoveryCode }), damaged)
  t.throws(() => joinBackup({ userId, keyring: keyring.padEnd(16_385) }, exported), {
    name: 'KeyringError',
    fault: 'malformed',
  })
  t.throws(() => joinBackup({ userId, keyring: `${keyring}é` }, exported), { name: 'KeyringError', fault: 'malformed' })
  t.throws(() => joinBackup({ userId: '', keyring }, exported), RangeError)
  const nobody = writeBackup('..', keyring, rest)
  await t.rejects(openBackup(new Blob([Uint8Array.from(nobody)]), { recoveryCode }), damaged)
  const longest = joinBackup({ userId: 'u'.repeat(128), keyring: keyring.padEnd(16_384) }, exported)
  t.same(await openBackup(longest, deriveKeys(masterKey)), opened, 'the longest user id and keyring')
})

t.test('an export without a keyring opens only with keys, and any other file is refused', async (t) => {
  const bare = new Blob([Uint8Array.from(exportOfSize())])
  t.same((await openBackup(bare, exportersKeys)).bookmarks, makeBookmarks(2))
  await t.rejects(openBackup(bare, deriveKeys(masterKey)), { name: 'ExportError', fault: 'other-key' })
  for (const secret of [{ recoveryCode }, { passphrase }]) {
    await t.rejects(openBackup(bare, secret), { name: 'ExportError', fault: 'no-keyring' })
    await t.rejects(openBackup(new Blob(['<!DOCTYPE NETSCAPE-Bookmark-file-1>']), secret), {
      name: 'ExportError',
      fault: 'not-an-export',
    })
  }
})
