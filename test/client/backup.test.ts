import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { createClient } from '../../src/client/api/client.ts'
import type { SendRequest } from '../../src/client/api/retry.ts'
import { unwrap } from '../../src/client/api/unwrap.ts'
import { withoutDeviceId } from '../../src/client/api/without-device-id.ts'
import type { EntityType, PlaintextBookmark } from '../../src/client/bookmark.ts'
import { createKeyring } from '../../src/client/crypto/keyring.ts'
import { deriveKeys, type Keys } from '../../src/client/crypto/keys.ts'
import { decryptBookmark } from '../../src/client/crypto/record.ts'
import { ApiError, BackupFailedError, ExportError, OfflineError } from '../../src/client/errors.ts'
import { type BackupProgress, createBackup, downloadBackup, openBackup } from '../../src/client/export-file/backup.ts'
import { createSync } from '../../src/client/sync/create-sync.ts'
import { memoryStore } from '../../src/client/sync/store/memory.ts'
import {
  changeVaultPassphrase,
  createVault,
  earlierKeyrings,
  restoreKeyring,
  rotateKeys,
} from '../../src/client/vault/vault.ts'
import { buildApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { fetchWith, jarOf, openTab, type Tab } from './connection.ts'
import { bookmark } from './sync/device.ts'

const exportsPath = '/api/v1/exports'
const passphrase = 'tinsel walrus oboe fjord kelp'

t.test('one call makes and downloads a backup, another opens it; the service does not keep a copy', async (t) => {
  const { client, owner, bookmarks, kept } = await openOwner(t)
  const stages: BackupProgress[] = []
  const file = await createBackup(client, { ...owner, onProgress: (progress) => stages.push(progress) })
  const read: [number, number][] = []
  const opened = await openBackup(file, owner.keys, { onProgress: (done, total) => read.push([done, total]) })
  t.same([opened.bookmarks, opened.bookmark_count], [bookmarks, bookmarks.length])
  const [made, ...others] = stages
  t.same(made, { stage: 'making' })
  t.same([...new Set(others.map(({ stage }) => stage))], ['downloading', 'checking'])
  const sizes = new Set(others.map((progress) => 'total' in progress && progress.total))
  t.equal(sizes.size, 1, 'both report the size of the export')
  t.match(others.at(-1), { done: [...sizes][0] })
  t.same(read.at(-1), [file.size, file.size])
  t.equal(await kept(), 0)
})

t.test('after the account is deleted, passphrase or code open the backup, also for another service', async (t) => {
  const { client, owner, recoveryCode, bookmarks } = await openOwner(t)
  const file = await createBackup(client, owner)
  unwrap(await client.DELETE('/api/v1/account'))
  for (const secret of [{ passphrase }, { recoveryCode }]) {
    t.same((await openBackup(file, secret)).bookmarks, bookmarks)
  }
  for (const tab of [await openTab(), await openElsewhere(t)]) {
    const vault = await (await createVault(tab.client, { ...tab, passphrase, fewestGuesses: 0 })).confirm()
    await t.rejects(openBackup(file, vault.keys), { name: 'ExportError', fault: 'passphrase-needed' })
    const sync = syncOf(t, tab, vault.keys)
    const { imported } = await sync.restoreExport(await openBackup(file, { recoveryCode }))
    await sync.syncNow()
    t.equal(imported, bookmarks.length)
    const { data } = unwrap(await tab.client.GET('/api/v1/bookmarks'))
    const stored = data.map((record) => decryptBookmark(vault.keys, record))
    t.same(sorted(stored), sorted(bookmarks), "the restored bookmarks are encrypted with the new vault's keys")
    const second = await createBackup(tab.client, { ...tab, keys: vault.keys })
    t.same(sorted((await openBackup(second, { passphrase })).bookmarks), sorted(bookmarks))
  }
})

t.test('each backup has tab groups, and history on request; a restore puts both on another service', async (t) => {
  const { client, owner, bookmarks } = await openOwner(t)
  const { userId, keys } = owner
  const types = ['bookmark', 'group', 'history'] as const
  const sync = syncOf(t, { client, userId }, keys, types)
  const groups: PlaintextBookmark[] = [
    { id: 'x', title: 'Work', source: 'groups', color: 'blue', position: 'a0' },
    { id: 'y', title: 'Tab', source: 'groups', url: 'https://example.org/', parentId: 'x', position: 'a0' },
  ]
  const visits = ['2026-11-21T08:10:00.000Z']
  const entry = {
    id: 'x',
    title: 'Page',
    source: 'history',
    url: 'https://example.org/',
    visits,
    visitCount: 1,
  } as const
  const gone = { ...entry, id: 'gone' }
  await sync.groups.put([...groups, { id: 'gone', title: 'Closed', source: 'groups' }])
  await sync.history.put([entry, gone])
  await sync.syncNow()
  await sync.groups.remove('gone')
  await sync.history.remove('gone')
  await sync.syncNow()
  const change = { id: 'e', operation: 'delete', timestamp: Date.now(), device_id: 'unknown' } as const
  const unseen = { ...change, entity_type: 'history', entity_id: 'unseen' } as const
  await client.POST('/api/v1/sync/push', { body: { changes: [unseen] }, middleware: [withoutDeviceId] })
  const pending = async () => unwrap(await client.GET('/api/v1/sync/status')).pending_changes
  t.equal(await pending(), 1)

  const without = await openBackup(await createBackup(client, owner), keys)
  t.same(
    [sorted(without.bookmarks), sorted(without.groups ?? []), without.history],
    [sorted(bookmarks), groups, undefined],
  )
  const file = await createBackup(client, { ...owner, history: true })
  const opened = await openBackup(file, { passphrase })
  t.same([sorted(opened.bookmarks), sorted(opened.groups ?? []), opened.history], [sorted(bookmarks), groups, [entry]])
  t.equal(await pending(), 1, 'the restoring device has not pulled them')
  await t.rejects(openBackup(file.slice(0, file.size - 1), keys), ExportError)

  unwrap(await client.DELETE('/api/v1/account'))
  const tab = await openElsewhere(t)
  const vault = await (await createVault(tab.client, { ...tab, passphrase, fewestGuesses: 0 })).confirm()
  const again = syncOf(t, tab, vault.keys, types)
  await again.groups.put({ ...(groups[0] as PlaintextBookmark), title: 'Renamed' })
  const restored = [await again.restoreExport(opened), await again.groups.restoreExport(opened)]
  t.match(restored, [{ imported: 3 }, { imported: 1, existing: ['x'], edited: ['y'] }])
  t.match(await again.history.restoreExport(without), { imported: 0 })
  t.match(await again.history.restoreExport(opened), { imported: 1, edited: ['x'] })
  t.match(await again.groups.restoreExport(opened, { overwrite: true }), { imported: 1, existing: ['y'] })
  const wrong = { groups: [entry] }
  t.match(await again.groups.restoreExport(wrong), {
    imported: 0,
    failed: [{ id: 'x', error: { fault: 'malformed' } }],
  })
  await again.syncNow()
  const second = await createBackup(tab.client, { ...tab, keys: vault.keys, history: true })
  const { groups: itsGroups = [], history } = await openBackup(second, vault.keys)
  t.same([sorted(itsGroups), history], [groups, [entry]])
  const bookmarksAlone = syncOf(t, tab, vault.keys)
  await t.rejects(bookmarksAlone.groups.restoreExport(opened), RangeError)
})

t.test('a backup opens with later keys of its vault, but only with the passphrase from when it was made', async (t) => {
  const { client, owner, recoveryCode, bookmarks } = await openOwner(t)
  const { userId } = owner
  const file = await createBackup(client, owner)
  const [changed, replaced] = ['a changed walrus oboe', 'a replaced walrus oboe']
  await changeVaultPassphrase(client, { userId, passphrase }, changed, { fewestGuesses: 0 })
  const between = await createBackup(client, owner)
  const draft = await rotateKeys(client, { userId, passphrase: changed }, replaced, { fewestGuesses: 0 })
  const { keys } = await draft.confirm()
  const after = await createBackup(client, { ...owner, keys })
  for (const backup of [file, between, after]) t.same((await openBackup(backup, keys)).bookmarks, bookmarks)
  t.same((await openBackup(file, { recoveryCode })).bookmarks, bookmarks)
  const tries = [
    { backup: file, valid: passphrase, wrong: changed },
    { backup: between, valid: changed, wrong: passphrase },
    { backup: after, valid: replaced, wrong: changed },
  ]
  for (const { backup, valid, wrong } of tries) {
    t.same((await openBackup(backup, { passphrase: valid })).bookmarks, bookmarks)
    const opening = openBackup(backup, { passphrase: wrong })
    await t.rejects(opening, { name: 'WrongKeyError', fault: 'wrong-passphrase' })
  }
  await t.rejects(openBackup(after, { recoveryCode }), { name: 'WrongKeyError', fault: 'wrong-recovery-code' })
  await t.rejects(openBackup(after, { recoveryCode: recoveryCode.slice(1) }), {
    name: 'KeyringError',
    fault: 'mistyped-recovery-code',
  })
  await t.rejects(
    openBackup(after, owner.keys),
    { name: 'ExportError', fault: 'passphrase-needed' },
    'earlier keys do not open it',
  )
})

t.test('createBackup rejects if another device replaces the keys meanwhile', async (t) => {
  let before: (() => Promise<unknown>) | undefined
  const { client, owner, bookmarks, kept } = await openOwner(t, (send) => async (request) => {
    const isKeyring = request.method === 'GET' && request.url.endsWith('/keyring')
    const work = isKeyring ? before : undefined
    if (work) before = undefined
    await work?.()
    return send(request)
  })
  const { userId } = owner
  let keys: Keys | undefined
  const rotate = async () => {
    const draft = await rotateKeys(client, { userId, passphrase }, passphrase, { fewestGuesses: 0 })
    ;({ keys } = await draft.confirm())
  }
  before = rotate
  const replaced = { name: 'KeyringError', fault: 'keys-replaced' }
  await t.rejects(createBackup(client, owner), replaced)
  if (!keys) throw new Error('not rotated')
  const file = await createBackup(client, { userId, keys })
  t.same((await openBackup(file, { passphrase })).bookmarks, bookmarks)

  const [earlier] = await earlierKeyrings(client, { userId })
  await restoreKeyring(client, { userId, id: earlier?.id ?? '' })
  await t.rejects(createBackup(client, { userId, keys }), replaced, 'it also rejects with an earlier keyring')
  await until(async () => (await kept()) === 0)
})

t.test('downloadBackup rejects instead of returning a file that would not open', async (t) => {
  let around: SendRequest | undefined
  const { client, owner } = await openOwner(t, (send) => (request) => around?.(request) ?? send(request))
  const { id } = unwrap(await client.POST(exportsPath))
  await until(async () => unwrap(await client.GET(exportsPath)).exports[0]?.status === 'completed')
  const file = await downloadBackup(client, id, owner)
  t.equal((await openBackup(file, { passphrase })).bookmark_count, 3)
  const bytes = new Uint8Array(await file.slice(file.size - 100).arrayBuffer())
  around = (request) =>
    (/exports.[^/]+$/.test(new URL(request.url).pathname) ? Promise.resolve(new Response(bytes)) : undefined) as never
  await t.rejects(downloadBackup(client, id, owner), ExportError)
  around = undefined
  const otherKeys = { ...owner, keys: deriveKeys(randomBytes(32)) }
  await t.rejects(downloadBackup(client, id, otherKeys), { name: 'KeyringError', fault: 'altered' })
  await t.rejects(downloadBackup(client, id, { ...owner, userId: 'somebody-else' }), {
    name: 'SignedOutError',
    isOtherUser: true,
  })
  await t.rejects(createBackup(client, { ...owner, userId: 'somebody-else' }), {
    name: 'SignedOutError',
    isOtherUser: true,
  })
  await client.DELETE('/api/v1/exports/{id}', { params: { path: { id } } })
  await t.rejects(downloadBackup(client, id, owner), { name: 'ApiError', status: 404 })
})

t.test("createBackup rejects if the service's keyring would not open", async (t) => {
  let served: string | undefined
  const { client, owner } = await openOwner(t, (send) => (request) => {
    const isKeyring = request.method === 'GET' && request.url.endsWith('/keyring')
    return isKeyring && served !== undefined
      ? Promise.resolve(Response.json({ keyring: served, revision: 1 }))
      : send(request)
  })
  const { userId } = owner
  const unverified: string[] = []
  const backUp = () => createBackup(client, { ...owner, onUnverified: () => unverified.push('unverified') })
  const { keyring } = unwrap(await client.GET('/api/v1/account/keyring'))
  const whole = JSON.parse(keyring)
  const other = (change: object) => JSON.stringify({ ...whole, ...change })
  const junk = Buffer.alloc(48, 7).toString('base64')
  const [eve, asUser] = [await makeKeyring('eve'), await makeKeyring(userId)]
  const faults: [string, string][] = [
    ['x', 'malformed'],
    ['{}', 'malformed'],
    [' '.repeat(16_385), 'malformed'],
    [other({ recovery: undefined }), 'malformed'],
    [other({ mac: '' }), 'malformed'],
    [other({ format: 'ebs/keyring/9' }), 'unknown-version'],
    [other({ passphrase: { ...whole.passphrase, iterations: 9_999_999 } }), 'excessive-kdf'],
    [other({ passphrase: { ...whole.passphrase, memory_kib: 8 } }), 'weak-kdf'],
    [other({ passphrase: { ...whole.passphrase, wrapped_key: junk } }), 'altered'],
    [other({ recovery: { ...whole.recovery, wrapped_key: junk } }), 'altered'],
    [eve, 'altered'],
    [asUser, 'altered'],
  ]
  for (const [text, fault] of faults) {
    served = text
    await t.rejects(backUp(), { name: 'KeyringError', fault }, text.slice(0, 60))
  }
  t.same(unverified, [])
  // Without a MAC, only the keyring's form can be checked, so `onUnverified` is called.
  served = other({ mac: undefined })
  t.equal((await openBackup(await backUp(), { passphrase })).bookmark_count, 3)
  t.same(unverified, ['unverified'])
  // The next change of the passphrase adds the MAC.
  served = undefined
  unwrap(await client.PUT('/api/v1/account/keyring', { body: { keyring: other({ mac: undefined }), revision: 2 } }))
  await backUp()
  await changeVaultPassphrase(client, { userId, passphrase }, passphrase, { fewestGuesses: 0 })
  t.equal((await openBackup(await backUp(), { passphrase })).bookmark_count, 3)
  t.same(unverified, ['unverified', 'unverified'])
})

t.test('openBackup without a secret, or with two secrets, rejects with what it needs', async (t) => {
  const untyped = openBackup as (file: Blob, unlocker: object) => Promise<unknown>
  for (const unlocker of [{}, { passphrase: 'p', recoveryCode: 'r' }, { userId: 'u' }]) {
    await t.rejects(untyped(new Blob(['EBSB']), unlocker), { name: 'RangeError', message: /passphrase.*recoveryCode/ })
  }
})

t.test('a backup that is aborted at any stage leaves nothing on the service', async (t) => {
  const { client, owner, kept } = await openOwner(t)
  for (const stage of ['making', 'downloading', 'checking']) {
    const controller = new AbortController()
    const reason = new Error(`aborted while ${stage}`)
    const onProgress = (progress: BackupProgress) => progress.stage === stage && controller.abort(reason)
    await t.rejects(createBackup(client, { ...owner, onProgress, signal: controller.signal }), reason)
    await until(async () => (await kept()) === 0)
  }
  const signal = AbortSignal.abort(new Error('before'))
  await t.rejects(createBackup(client, { ...owner, signal }), { message: 'before' })
  await t.rejects(openBackup(await createBackup(client, owner), owner.keys, { signal }), { message: 'before' })
})

t.test('a failed backup rejects with the reason, and leaves nothing on the service', async (t) => {
  let around: SendRequest | undefined
  const { client, owner, kept } = await openOwner(t, (send) => (request) => around?.(request) ?? send(request))
  const onCall = (method: string, path: RegExp, answer: () => Promise<Response>): SendRequest => {
    return (request) => {
      const isIt = request.method === method && path.test(new URL(request.url).pathname)
      return (isIt ? answer() : undefined) as Promise<Response>
    }
  }
  const code = (value: string) => ({ 'x-error-code': value })
  const full = { status: 429, headers: { 'retry-after': '86400', ...code('TooManyExportsKept') } }
  around = onCall('POST', /exports$/, async () => Response.json({ error: 'Too many exports kept' }, full))
  await t.rejects(
    createBackup(client, owner),
    new ApiError(429, 'Too many exports kept', undefined, 86_400_000, 'TooManyExportsKept'),
  )
  around = onCall('GET', /exports$/, async () => Response.json({ exports: [] }))
  await t.rejects(createBackup(client, owner), BackupFailedError)
  around = onCall('GET', /exports\/./, () => Promise.reject(new TypeError('fetch failed')))
  await t.rejects(createBackup(client, owner), OfflineError)
  around = undefined
  await until(async () => (await kept()) === 0)

  const file = await createBackup(client, owner)
  await t.rejects(openBackup(file.slice(0, file.size - 1), owner.keys), ExportError)
  const none = { status: 404, headers: code('KeyringNotFound') }
  around = onCall('GET', /keyring$/, async () => Response.json({ error: 'Keyring not found' }, none))
  await t.rejects(createBackup(client, owner), { name: 'ApiError', status: 404 })
})

/** A user with a vault and three bookmarks on the service. */
async function openOwner(t: Test, around?: (send: SendRequest) => SendRequest) {
  const tab = await openTab(around)
  const { client, userId } = tab
  const draft = await createVault(client, { userId, passphrase, fewestGuesses: 0 })
  const { keys } = await draft.confirm()
  const sync = syncOf(t, tab, keys)
  await sync.importBookmarks(['x', 'y', 'z'].map((id) => bookmark(id, `title of ${id}`)))
  await sync.syncNow()
  const kept = async () => unwrap(await client.GET(exportsPath)).exports.length
  const bookmarks = [...sync.bookmarks().values()]
  return { client, owner: { userId, keys }, recoveryCode: draft.recoveryCode, bookmarks, kept }
}

async function makeKeyring(userId: string): Promise<string> {
  return (await createKeyring({ userId, passphrase, fewestGuesses: 0 })).keyring
}

function syncOf(
  t: Test,
  { client, userId }: Pick<Tab, 'client' | 'userId'>,
  keys: Keys,
  types: readonly EntityType[] = ['bookmark'],
) {
  const own = structuredClone(keys)
  const sync = createSync({ client, keys: own, userId, deviceId: 'laptop', store: memoryStore(), types })
  t.teardown(() => sync.stop())
  return sync
}

/** A user of another service. */
async function openElsewhere(t: Test): Promise<Pick<Tab, 'client' | 'userId'>> {
  const { user, listen } = await buildApp(t)
  const person = await user('ada')
  const jar = jarOf(person)
  const fetch: SendRequest = (request) => fetchWith(jar, request)
  return { userId: person.userId, client: createClient({ baseUrl: await listen(), deviceId: 'laptop', fetch }) }
}

function sorted<One extends { id: string }>(bookmarks: One[]): One[] {
  return bookmarks.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}
