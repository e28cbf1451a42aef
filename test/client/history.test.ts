/** `createHistory` on the service: lists, restores, erases and rewinds. */
import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { createHistory, type History, type RewindCounts } from '../../src/client/history.ts'
import {
  type Client,
  createSync,
  deriveKeys,
  encryptBookmark,
  memoryStore,
  type PlaintextBookmark,
  type Sync,
} from '../../src/client/index.ts'
import { editOf } from '../../src/protocol/re-encrypted.ts'
import type { TestUser } from '../support/app.ts'
import { change, pullAll, pushMany } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { sharedApp } from '../support/shared-app.ts'
import { type Connection, clientOver } from './connection.ts'
import { bookmark } from './sync/device.ts'

interface Device extends Connection {
  sync: Sync
  history: History
  client: Client
}

const { user } = await sharedApp()

const names = ['laptop', 'phone', 'tablet', 'faulty'] as const

/** A user with devices. A device is created whenever its name is read, so a test reads each once. */
async function open() {
  const ann = await user(randomUUID())
  const masterKey = randomBytes(32)
  const device = (id: string): Device => {
    const connection: Connection = { session: ann }
    const client = clientOver(connection, id)
    // Each device has its own keys, because a sign-out erases them.
    const keys = deriveKeys(masterKey)
    const { userId } = ann
    const sync = createSync({ client, keys, userId, deviceId: id, store: memoryStore() })
    return Object.assign(connection, { sync, client, history: createHistory({ client, keys, userId, sync }) })
  }
  const devices = Object.fromEntries(names.map((name) => [name, { get: () => device(name) }]))
  const opened = { ann, keys: deriveKeys(masterKey), device }
  return Object.defineProperties(opened as typeof opened & Record<(typeof names)[number], Device>, devices)
}

async function put(device: Device, ...bookmarks: PlaintextBookmark[]): Promise<void> {
  await device.sync.put(bookmarks)
  await device.sync.syncNow()
}

/** The cursor after a sync: the service's time of the last change. */
async function timeOf({ sync }: Device): Promise<number> {
  await sync.syncNow()
  return sync.seen()
}

const titles = (list: { bookmark: PlaintextBookmark | null }[]) => list.map(({ bookmark }) => bookmark?.title)

t.test('An earlier version is listed in plaintext, and restored on every device', async (t) => {
  const { laptop, phone } = await open()
  await put(laptop, bookmark('x', 'first'))
  await put(laptop, bookmark('x', 'second'))
  await phone.sync.syncNow()
  await put(phone, bookmark('x', 'third'))

  const versions = await laptop.history.history('x')
  t.match(versions, [
    { id: 'x', bookmark: { title: 'second' }, deviceId: 'laptop', operation: 'update', reason: 'superseded' },
    { id: 'x', bookmark: { title: 'first' }, deviceId: 'laptop', operation: 'create', error: null },
  ])
  t.same(await laptop.history.history('unknown'), [])

  await laptop.history.restoreVersion('x', versions[1]?.versionId)
  await phone.sync.syncNow()
  t.same([laptop.sync.get('x')?.title, phone.sync.get('x')?.title], ['first', 'first'])
  t.same(titles(await phone.history.history('x')), ['third', 'second', 'first'])
  t.same([laptop.sync.conflicts(), phone.sync.conflicts()], [[], []])
  await t.rejects(laptop.history.restoreVersion('x', 'unknown'), { name: 'ApiError', status: 404 })
})

t.test('An edit is listed once after the service has erased one of its two copies', async (t) => {
  const { ann, keys, laptop } = await open()
  const now = Date.now()
  const ids = ['edit', 'edit~001', ...Array.from({ length: 12 }, (_, n) => `later-${n}`)]
  for (const [n, id] of [...Array.from({ length: 39 }, (_, n) => `earlier-${n}`), ...ids].entries()) {
    const edit = change({ id, entity_id: 'x', timestamp: now + n, ...encryptBookmark(keys, bookmark('x', editOf(id))) })
    t.equal((await ann.call('POST', '/api/v1/sync/push', { body: { changes: [edit] } })).body.accepted, 1)
  }
  const listed = titles(await laptop.history.history('x'))
  // The list has all 50 kept versions.
  t.equal(listed.length, 50)
  t.equal(listed.filter((title) => title === 'edit').length, 1)
})

t.test("Junk with an earlier version's id neither hides this version nor is restored in its place", async (t) => {
  const { ann, laptop } = await open()
  await put(laptop, bookmark('x', 'good'))
  await put(laptop, bookmark('x', 'better'))
  const push = async (fields: Partial<Parameters<typeof change>[0]>) => {
    const junk = { operation: 'update', device_id: 'thief', encrypted_data: 'SlVOSw==' } as const
    await ann.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: 'x', ...junk, ...fields })] } })
  }
  const { changes } = await pullAll(ann)
  const [{ id = '', data_hash = '' } = {}] = changes
  // The id that this edit's copy would have after the next rotation of keys.
  await push({ id: `${id}~001`, data_hash, timestamp: 1 })
  for (const mark of ['', '~002']) await push({ id: `${id}${mark}`, data_hash, timestamp: Date.now() + 1000 })
  await laptop.sync.syncNow()
  t.equal(laptop.sync.get('x')?.title, 'better', 'the device cannot read the current version')
  const shown = async () => (await laptop.history.history('x')).filter(({ bookmark }) => bookmark)
  const versions = await shown()
  t.same(titles(versions), ['better', 'good'])
  for (const { versionId, bookmark } of versions) {
    await laptop.history.restoreVersion('x', versionId)
    t.same(laptop.sync.get('x'), bookmark)
  }
})

t.test('An edit and its copies under newer keys are one version; junk in a copy’s name is another', async (t) => {
  const { ann, keys, laptop } = await open()
  const now = Date.now()
  const push = (id: string, timestamp: number, content: object) =>
    ann.call('POST', '/api/v1/sync/push', {
      body: { changes: [change({ id, entity_id: 'x', operation: 'update', timestamp, ...content })] },
    })
  await push('edit', now, encryptBookmark(keys, bookmark('x', 'good')))
  await push('edit~001', 1, { encrypted_data: 'SlVOSw==' })
  await push('edit~001', now, encryptBookmark(keys, bookmark('x', 'good')))
  const readable = async () => (await laptop.history.history('x')).filter(({ bookmark }) => bookmark)
  t.same(await readable(), [], 'the edit is the current version')
  await push('edit~002', now, encryptBookmark(keys, bookmark('x', 'another')))
  await push('later', now + 1, encryptBookmark(keys, bookmark('x', 'later')))
  const listed = await readable()
  t.same(titles(listed), ['another', 'good'])
  await laptop.sync.syncNow()
  await laptop.history.restoreVersion('x', listed[1]?.versionId)
  t.equal(laptop.sync.get('x')?.title, 'good')
})

t.test('A version that cannot be decrypted is listed with the reason, and can be restored', async (t) => {
  const { ann, keys, laptop } = await open()
  const foreign = encryptBookmark(deriveKeys(randomBytes(32)), bookmark('x', 'under another key'))
  await ann.call('POST', '/api/v1/bookmarks', { body: { id: 'x', ...foreign } })
  await ann.call('PUT', '/api/v1/bookmarks/x', { body: encryptBookmark(keys, bookmark('x', 'mine')) })
  await laptop.sync.syncNow()
  const [version] = await laptop.history.history('x')
  t.match(version, { bookmark: null, error: { name: 'RecordError', fault: 'altered' } })
  await laptop.history.restoreVersion('x', version?.versionId)
  t.equal((await ann.call('GET', '/api/v1/bookmarks/x')).body.data_hash, foreign.data_hash)

  await ann.call('DELETE', '/api/v1/bookmarks/x')
  t.match((await laptop.history.trash()).bookmarks, [{ id: 'x', bookmark: null, error: { fault: 'altered' } }])
})

t.test("A deleted bookmark is in every device's trash, and can be restored or erased for good", async (t) => {
  const { laptop, phone } = await open()
  await put(laptop, bookmark('x', 'kept'), bookmark('y', 'secret'))
  await laptop.sync.remove(['x', 'y'])
  // The deletes are still unsent, so `purge` sends them first.
  await laptop.history.purge('y')
  const trash = await phone.history.trash()
  t.match(trash, { bookmarks: [{ id: 'x', bookmark: { title: 'kept' }, error: null }], next: null })
  t.same(await phone.history.history('y'), [])

  await phone.history.restoreVersion('x')
  await laptop.sync.syncNow()
  t.same([laptop.sync.get('x')?.title, phone.sync.get('x')?.title], ['kept', 'kept'])
  await t.rejects(phone.history.purge('x'), { name: 'ApiError', status: 404 })
  await t.rejects(phone.history.restoreVersion('y'), { name: 'ApiError', status: 404 })
})

t.test('The trash and the conflicts come in pages', async (t) => {
  const { laptop } = await open()
  const ids = Array.from({ length: 130 }, (_, index) => `b${String(index).padStart(3, '0')}`)
  await put(laptop, ...ids.map((id) => bookmark(id, id)))
  await laptop.sync.remove(ids)
  await laptop.sync.syncNow()
  const first = await laptop.history.trash()
  const second = await laptop.history.trash({ after: first.next ?? '' })
  t.same([first.bookmarks.length, second.bookmarks.length, second.next], [100, 30, null])
  t.same([...titles(first.bookmarks), ...titles(second.bookmarks)].sort(), ids)
  t.same(await laptop.history.serverConflicts({ after: '1' }), { conflicts: [], next: null })
})

t.test('A device that made neither version of a conflict can list and settle it, or restore the loser', async (t) => {
  const { ann, keys, laptop, tablet } = await open()
  await put(laptop, bookmark('x', 'x'), bookmark('y', 'y'))
  const late = ['x', 'y'].map((entity_id) => {
    const lost = bookmark(entity_id, `${entity_id} of a lost phone`)
    const fields = { operation: 'update', timestamp: 1, device_id: 'lost-phone', base: 0 } as const
    return change({ entity_id, ...fields, ...encryptBookmark(keys, lost) })
  })
  await ann.call('POST', '/api/v1/sync/push', { body: { changes: late } })

  const { conflicts } = await tablet.history.serverConflicts()
  t.same(titles(conflicts).sort(), ['x of a lost phone', 'y of a lost phone'])
  t.match(conflicts, Array(2).fill({ deviceId: 'lost-phone', reason: 'rejected', began: null, settledAt: null }))
  const [x, y] = conflicts.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  await tablet.history.settleConflict(x?.versionId ?? '')
  await tablet.history.restoreVersion('y', y?.versionId)
  t.same((await laptop.history.serverConflicts()).conflicts, [])
  await laptop.sync.syncNow()
  t.same([laptop.sync.get('x')?.title, laptop.sync.get('y')?.title], ['x', 'y of a lost phone'])
  await t.rejects(tablet.history.settleConflict(x?.versionId ?? ''), { name: 'ApiError', status: 404 })
})

t.test('After a client has deleted everything, a dry run counts it, and a rewind restores it everywhere', async (t) => {
  const count = depth(60, 20_000)
  const { ann, laptop, phone, tablet } = await open()
  const list = Array.from({ length: count }, (_, index) =>
    bookmark(`b${index}`, `Bookmark ${index}`, { tags: ['good'] }),
  )
  await put(laptop, ...list)
  for (const { sync } of [phone, tablet]) await sync.syncNow()
  await put(phone, bookmark('b0', 'Edited before'))
  const good = await timeOf(laptop)
  const before = laptop.sync.tree()

  await deleteAll(ann, list)
  await put(tablet, bookmark('later', 'Made since'))
  await Promise.all([laptop, phone].map(({ sync }) => sync.syncNow()))
  t.equal(phone.sync.status().heldDeletions?.count, count, 'the guard holds the deletes')
  await phone.sync.approveDeletions(count)
  t.equal(phone.sync.bookmarks().size, 1)

  const dryRun = await laptop.history.rewind({ to: good, dryRun: true })
  t.same(dryRun, { restored: count, deleted: 1, unchanged: 0, beyondRetention: 0 })
  t.equal((await ann.call('GET', '/api/v1/bookmarks?limit=1')).body.meta.total, 1, 'a dry run changes nothing')

  const progress: RewindCounts[] = []
  const done = await laptop.history.rewind({ to: good, dryRun: false, onProgress: (counts) => progress.push(counts) })
  t.same(done, dryRun)
  t.same([progress.at(-1), progress.length], [dryRun, Math.ceil((count + 1) / 500)])
  await Promise.all([phone, tablet].map(({ sync }) => sync.syncNow()))
  for (const { sync } of [laptop, phone, tablet]) {
    t.same([sync.tree(), sync.status().heldDeletions, sync.conflicts()], [before, undefined, []])
  }
})

/** Deletes like a faulty client that knows only the ids. */
async function deleteAll(ann: TestUser, list: readonly PlaintextBookmark[]): Promise<void> {
  const fields = { operation: 'delete', timestamp: Date.now() + 60_000, device_id: 'faulty' } as const
  await pushMany(
    ann,
    list.map(({ id }) => change({ entity_id: id, ...fields })),
  )
}

t.test('The device of a rewind applies its deletes without asking, and the other devices hold them', async (t) => {
  const { laptop, phone } = await open()
  await put(laptop, bookmark('old', 'old'))
  const good = await timeOf(laptop)
  await put(laptop, ...Array.from({ length: 20 }, () => bookmark(randomUUID(), 'imported twice')))
  await phone.sync.syncNow()
  const imported = await timeOf(laptop)
  t.match(await laptop.history.rewind({ to: good, dryRun: false }), { restored: 0, deleted: 20, unchanged: 1 })
  t.same([laptop.sync.bookmarks().size, laptop.sync.status().heldDeletions], [1, undefined])
  await phone.sync.syncNow()
  t.equal(phone.sync.status().heldDeletions?.count, 20)

  await laptop.history.rewind({ to: imported, dryRun: false })
  await phone.sync.syncNow()
  t.same([phone.sync.bookmarks().size, phone.sync.status().heldDeletions], [21, undefined], 'a rewind is undone')
})

t.test('A rewind approves only its own deletes, not those that were held before or made meanwhile', async (t) => {
  const { ann, laptop, phone } = await open()
  const made = (name: string) => Array.from({ length: 20 }, (_, index) => bookmark(`${name}${index}`, name))
  const idsOf = (name: string) => made(name).map(({ id }) => id)
  await put(laptop, ...['before', 'meanwhile'].flatMap(made))
  await phone.sync.syncNow()
  const removeThere = async (name: string) => {
    await phone.sync.remove(idsOf(name))
    await phone.sync.syncNow()
  }
  const held = () => laptop.sync.heldDeletions().map(({ id }) => id)
  await removeThere('before')
  const good = await timeOf(laptop)
  await put(laptop, ...made('since'))
  await laptop.history.rewind({ to: good, dryRun: false })
  t.same(held().sort(), idsOf('before').sort())

  await put(laptop, ...made('again'))
  const call: TestUser['call'] = async (method, path, request) => {
    const answered = await ann.call(method, path, request)
    if (path.endsWith('/rewind')) await removeThere('meanwhile')
    return answered
  }
  laptop.session = { ...ann, call }
  await laptop.history.rewind({ to: good, dryRun: false })
  t.same(held().sort(), ['before', 'meanwhile', 'again'].flatMap(idsOf).sort())
})

t.test('Edits that are unsent on any device during a rewind are merged with its result', async (t) => {
  const { laptop, phone, faulty } = await open()
  const ids = ['offline', 'before', 'meanwhile']
  await put(laptop, ...ids.map((id) => bookmark(id, id, { tags: ['good'] })))
  for (const { sync } of [phone, faulty]) await sync.syncNow()
  const good = await timeOf(laptop)
  await phone.sync.update('offline', { title: 'Edited on the phone' })
  await put(faulty, ...ids.map((id) => bookmark(id, id, { tags: ['bad'] })))
  await laptop.sync.syncNow()
  await laptop.sync.update('before', { description: 'Not sent yet' })

  const edits: Promise<void>[] = []
  const editMeanwhile = () => edits.push(laptop.sync.update('meanwhile', { title: 'Edited meanwhile' }))
  await laptop.history.rewind({ to: good, dryRun: false, onProgress: editMeanwhile })
  await Promise.all(edits)
  for (const { sync } of [laptop, phone, laptop, phone]) await sync.syncNow()
  const expected = [
    { id: 'offline', title: 'Edited on the phone', tags: ['good'] },
    { id: 'before', title: 'before', tags: ['good'] },
    { id: 'meanwhile', title: 'Edited meanwhile', tags: ['good'] },
  ]
  const shown = ({ sync }: Device) => ids.map((id) => ({ id, title: sync.get(id)?.title, tags: sync.get(id)?.tags }))
  t.same(shown(laptop), expected)
  t.same(shown(phone), expected)
  const sentFirst = (await phone.history.history('before')).map(({ bookmark }) => bookmark?.description)
  t.same(sentFirst, ['Not sent yet', undefined, undefined], 'an edit sent before the rewind is in the history')
})

t.test('Without a network or a session no call changes anything, and the error says why', async (t) => {
  const { ann, laptop } = await open()
  await put(laptop, bookmark('x', 'mine'), bookmark('y', 'deleted'))
  await laptop.sync.remove('y')
  await laptop.sync.syncNow()
  const { history } = laptop
  const calls = () =>
    Promise.allSettled([
      history.history('x'),
      history.trash(),
      history.serverConflicts(),
      history.settleConflict('z'),
      history.restoreVersion('y'),
      history.purge('y'),
      history.rewind({ to: 0, dryRun: false }),
    ])
  const errors = async () => new Set((await calls()).map((call) => call.status === 'rejected' && call.reason.name))

  laptop.session = null
  t.same(await errors(), new Set(['OfflineError']))
  laptop.session = await user('another')
  t.same(await errors(), new Set(['SignedOutError']), 'another user is signed in')
  laptop.session = {
    ...ann,
    cookie: 'none',
    call: async () => ({
      status: 401,
      headers: { 'x-error-code': 'InvalidSession' },
      body: { error: 'Invalid or expired session' },
      raw: Buffer.alloc(0),
    }),
  }
  t.same(await errors(), new Set(['SignedOutError']))

  laptop.session = ann
  t.same(titles((await history.trash()).bookmarks), ['deleted'])
  const isAborted = AbortSignal.abort(new Error('The user left'))
  await t.rejects(history.rewind({ to: 0, dryRun: false, signal: isAborted }), { message: 'The user left' })
  t.equal((await ann.call('GET', '/api/v1/bookmarks?limit=1')).body.meta.total, 1)
})

t.test('A sign-out during a call is a SignedOutError, not a fault of the records', async (t) => {
  const { ann, laptop, device } = await open()
  await put(laptop, bookmark('x', 'first'))
  await put(laptop, bookmark('x', 'second'))
  const copy = device('laptop')
  const call: TestUser['call'] = async (method, path, request) => {
    const answered = await ann.call(method, path, request)
    if (path.includes('/versions')) await copy.sync.signOut()
    return answered
  }
  copy.session = { ...ann, call }
  await t.rejects(copy.history.history('x'), { name: 'SignedOutError' })
})
