import t, { type Test } from 'tap'
import { readConfig } from '../../src/service/config/config.ts'
import { openForCommand } from '../../src/service/db/for-command.ts'
import { findCounters } from '../../src/service/db/tables/users.ts'
import { acceptLimits, listSmaller } from '../../src/service/operating/limits-guard.ts'
import { recount } from '../../src/service/upkeep/recount.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { countRows, snapshot } from '../support/database.ts'
import { depth } from '../support/depth.ts'
import { silent } from '../support/log.ts'
import { pick } from '../support/pick.ts'
import { sweepVersions } from '../support/sweeps.ts'
import { countUsage, maxUserBytes, usage } from '../support/usage.ts'

const exceeded = [413, { error: 'Storage quota exceeded' }]
const data = (bytes: number) => ({ encrypted_data: 'x'.repeat(bytes), data_hash: 'hash' })
const gone = (entity_id: string, fields = {}) => change({ entity_id, operation: 'delete', ...fields })

/** Ways to store `bytes` under a new id. The last one replaces the ciphertext of `old` instead. */
const writes: [way: string, write: (user: TestUser, id: string, bytes: number) => ReturnType<TestUser['call']>][] = [
  ['push', (user, id, bytes) => push(user, change({ entity_id: id, ...data(bytes) }))],
  [
    'import',
    (user, id, bytes) => user.call('POST', '/api/v1/sync/import', { body: { bookmarks: [{ id, ...data(bytes) }] } }),
  ],
  ['POST', (user, id, bytes) => user.call('POST', '/api/v1/bookmarks', { body: { id, ...data(bytes) } })],
  ['PUT', (user, _, bytes) => user.call('PUT', '/api/v1/bookmarks/old', { body: data(bytes + 10) })],
]

const apps = new Map<string, Promise<TestApp>>()
let people = 0

/** A new user who stores 10 bytes in one record, `old`, in the app that has these limits. */
async function open(limits: Record<string, string>): Promise<TestApp & { ada: TestUser; name: string }> {
  const key = JSON.stringify(limits)
  const opening = apps.get(key) ?? buildApp(t, limits)
  apps.set(key, opening)
  const app = await opening
  const name = `ada ${++people}`
  const ada = await app.user(name)
  await push(ada, change({ entity_id: 'old', timestamp: 1000, ...data(10) }))
  return { ...app, ada, name }
}

/** Checks that the response is 413 and that nothing in the database changed. */
async function refused(t: Test, { context }: TestApp, what: string, request: () => ReturnType<TestUser['call']>) {
  const before = await snapshot(context)
  const { status, body } = await request()
  t.same([status, body], exceeded, what)
  t.equal(await snapshot(context), before, `${what}: no change is applied`)
}

for (const [way, write] of writes) {
  t.test(`${way}: the quota of bytes is exact`, async (t) => {
    const app = await open(maxUserBytes(30, way === 'PUT' ? 1 : 2))
    await refused(t, app, '21 bytes', () => write(app.ada, 'new', 21))
    t.ok((await write(app.ada, 'new', 20)).status < 300)
    t.equal((await usage(app.context, app.ada.userId)).bytes, 30)
    const bob = await app.user(`bob ${way}`)
    t.equal((await push(bob, change({ entity_id: 'x', ...data(30) }))).status, 200, "another user's quota is separate")
  })
}

for (const [way, write] of writes.slice(0, 3)) {
  t.test(`${way}: the quota of records is exact`, async (t) => {
    const app = await open({ MAX_USER_RECORDS: '2' })
    t.ok((await write(app.ada, 'new', 1)).status < 300)
    await refused(t, app, 'a third one', () => write(app.ada, 'newer', 1))
    t.same(await usage(app.context, app.ada.userId), { bytes: 11, records: 2 })
  })
}

t.test('A push or import beyond the quota is refused as a whole, including its deletes', async (t) => {
  const app = await open({ ...maxUserBytes(30, 3), MAX_USER_RECORDS: '3' })
  const [a, b, c] = ['a', 'b', 'c'].map((entity_id) => change({ entity_id, ...data(1) }))
  const large = change({ entity_id: 'large', ...data(21) })
  await refused(t, app, 'records', () => push(app.ada, gone('old'), a as object, b as object, c as object))
  await refused(t, app, 'bytes', () => push(app.ada, a as object, large))
  const bookmarks = ['a', 'b', 'c', ''].map((id) => ({
    id: id || 'faulty',
    ...data(1),
    ...(id === '' && { data_hash: 1 }),
  }))
  const send = (sent: object[]) => app.ada.call('POST', '/api/v1/sync/import', { body: { bookmarks: sent } })
  await refused(t, app, 'import', () => send(bookmarks))
  t.match((await send([...bookmarks.slice(1), { id: 'old', ...data(25) }])).body, {
    imported_ids: ['b', 'c'],
    errors: [{ id: 'faulty' }, { id: 'old', error: 'Bookmark already exists' }],
  })
})

t.test('Deletes always succeed, and deleted records count as records', async (t) => {
  const app = await open({ ...maxUserBytes(20, 4), MAX_USER_RECORDS: '2' })
  await push(app.ada, change({ entity_id: 'other', timestamp: 1000, ...data(10) }))
  t.equal((await app.ada.call('DELETE', '/api/v1/bookmarks/old')).status, 200)
  t.equal((await push(app.ada, gone('other'))).body.accepted, 1)
  t.same(await usage(app.context, app.ada.userId), { bytes: 20, records: 2 })
  await refused(t, app, 'a new one', () => push(app.ada, change({ entity_id: 'new', ...data(1) })))
  const revived = change({ entity_id: 'old', timestamp: Date.now() + 1000, ...data(10) })
  t.equal((await push(app.ada, revived)).body.accepted, 1, 'a revival reuses the room of the deleted version')
})

t.test('The oldest tombstones make room for new records, once none of their data is kept', async (t) => {
  const app = await buildApp(t, { MAX_USER_RECORDS: '4' })
  const ada = await app.user('ada')
  const create = (...ids: string[]) => push(ada, ...ids.map((entity_id) => change({ entity_id, ...data(5) })))
  const ids = async () => pick((await pullAll(ada)).changes, 'entity_id')
  const inTrash = async () => pick((await ada.call('GET', '/api/v1/trash')).body.bookmarks, 'id')
  const right = async () => t.same(await Array.fromAsync(recount(app.context.database)), [undefined], 'all is counted')
  await create('a', 'b', 'c', 'd')
  for (const id of ['c', 'a', 'b']) await ada.call('DELETE', `/api/v1/bookmarks/${id}`)
  await refused(t, app, 'restorable bookmarks are not erased', () => create('e'))
  await right()
  for (const id of ['b', 'c']) t.equal((await ada.call('DELETE', `/api/v1/trash/${id}`)).status, 200)
  await right()
  await refused(t, app, 'more records than purged ones', () => create('e', 'f', 'g'))
  t.equal((await create('e')).status, 200)
  t.same(await ids(), ['d', 'a', 'b', 'e'], 'the oldest tombstone is erased')
  t.equal((await create('f')).status, 200)
  t.same([await ids(), await inTrash()], [['d', 'a', 'e', 'f'], ['a']])
  await right()
  await refused(t, app, 'again', () => create('g'))
  t.equal((await ada.call('POST', '/api/v1/bookmarks/a/restore')).status, 200)
  t.same(await usage(app.context, ada.userId), await countUsage(app.context, ada.userId))
  await ada.call('DELETE', '/api/v1/bookmarks/d')
  await sweepVersions(app.context, Date.now() + 31 * 86_400_000)
  t.equal((await create('c')).status, 200, 'tombstones of old deletes make room, too')
  t.same((await ids()).toSorted(), ['a', 'c', 'e', 'f'])
  await right()
})

t.test('Parallel writes at the limit of records erase no versions', async (t) => {
  const app = await buildApp(t, { MAX_USER_RECORDS: '60' })
  const ada = await app.user('ada')
  const edit = (size: number) =>
    Array.from({ length: 10 }, (_, index) => change({ entity_id: `e${index}`, timestamp: size, ...data(size) }))
  for (const size of [5, 6, 7, 8]) await push(ada, ...edit(size))
  await push(ada, ...Array.from({ length: 50 }, (_, index) => gone(`never-${index}`)))
  const versions = async () => (await findCounters(app.context.database.db, ada.userId)).stored_versions
  t.equal(await versions(), 30)
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      push(ada, ...[0, 1, 2].map((n) => change({ entity_id: `new-${index}-${n}`, ...data(20_000) }))),
    ),
  )
  t.same(pick(answers, 'status'), Array(8).fill(200))
  t.equal(await versions(), 30)
  t.same(await usage(app.context, ada.userId), await countUsage(app.context, ada.userId))
})

t.test('Deleting unknown ids does not stop later creates', async (t) => {
  const app = await buildApp(t, { ...maxUserBytes(3000, 1100), MAX_USER_RECORDS: '1000' })
  const ada = await app.user('ada')
  const many = (count: number, make: (index: number) => object) =>
    push(ada, ...Array.from({ length: count }, (_, index) => make(index)))
  await many(3, (index) => change({ entity_id: `mine-${index}`, ...data(10) }))
  await ada.call('DELETE', '/api/v1/bookmarks/mine-0')
  for (const part of [1, 2, 3]) await many(400, (index) => gone(`never-${part}-${index}`))
  t.ok((await usage(app.context, ada.userId)).records > 990, 'the account is almost full')
  const history = (await ada.call('GET', '/api/v1/trash')).body.bookmarks.length
  t.equal(history, 1, 'no version was erased for the unknown ids')
  for (const size of [1, 400, 300, 296])
    t.equal((await many(size, (index) => change({ entity_id: `new-${size}-${index}`, ...data(1) }))).status, 200)
  t.same(await usage(app.context, ada.userId), await countUsage(app.context, ada.userId))
  t.same(await Array.fromAsync(recount(app.context.database)), [undefined])
  t.equal((await pullAll(ada)).changes.length, 1000)
  t.equal((await ada.call('GET', '/api/v1/trash')).body.bookmarks.length, 1, 'the trash stays')
})

t.test('At the limit of records a delete of an unknown entity is accepted and leaves nothing', async (t) => {
  const app = await open({ MAX_USER_RECORDS: '2' })
  const { body: first } = await push(app.ada, gone('a'), gone('b'), gone('c'))
  t.equal(first.accepted, 3)
  t.same(pick((await pullAll(app.ada)).changes, 'entity_id'), ['old', 'a'], 'unknown deletes are kept up to the limit')
  const before = await countRows(app.context)
  const { status, body } = await push(app.ada, gone('b'))
  t.same([status, body.accepted, body.conflicts], [200, 1, []])
  const older = change({ entity_id: 'd', timestamp: 1000, ...data(1) })
  const contested = await push(app.ada, older, gone('d', { timestamp: 2000, device_id: 'device-b' }))
  t.match(contested.body, { accepted: 1, conflicts: [{ event_id: older.id }] })
  t.same(await countRows(app.context), before, 'nothing is stored, nor an open conflict')
  t.equal((await push(app.ada, older)).body.accepted, 1, 'an older create arriving later replaces a tombstone')
  t.same(pick((await pullAll(app.ada)).changes, 'entity_id'), ['old', 'd'])
  await refused(t, app, 'a live record is not replaced', () =>
    push(app.ada, gone('old'), change({ entity_id: 'e', ...data(1) })),
  )
})

t.test('At the limit, retries and writes that need no more room succeed', async (t) => {
  const app = await open({ ...maxUserBytes(10, 1), MAX_USER_RECORDS: '1' })
  const edit = (timestamp: number, bytes: number) =>
    change({ entity_id: 'old', operation: 'update', timestamp, ...data(bytes) })
  const equal = edit(2000, 10)
  t.equal((await push(app.ada, equal)).body.accepted, 1)
  const before = await pullAll(app.ada)
  t.equal((await push(app.ada, equal)).body.accepted, 1)
  const loser = { ...edit(1500, 200), data_hash: 'other' }
  t.equal((await push(app.ada, loser)).body.conflicts.length, 1, 'a losing change needs no room')
  t.same(await pullAll(app.ada), before)
  t.equal((await push(app.ada, edit(3000, 4))).body.accepted, 1, 'shorter')
  t.same(await usage(app.context, app.ada.userId), { bytes: 4, records: 1 })
  t.equal((await push(app.ada, edit(4000, 10))).body.accepted, 1, 'an edit back to the limit succeeds')
  await refused(t, app, 'longer', () => push(app.ada, edit(5000, 11)))
})

t.test('Above a lowered limit nothing is lost, and writes that need no more room succeed', async (t) => {
  const first = await open({})
  await push(first.ada, change({ entity_id: 'other', timestamp: 1000, ...data(10) }))
  const before = await first.user('bob above')
  await before.call('POST', '/api/v1/bookmarks', { body: { id: 'x', ...data(10) } })
  await before.call('PUT', '/api/v1/bookmarks/x', { body: data(6) })
  await first.close()
  const lowered = { ...maxUserBytes(5, 2), MAX_USER_RECORDS: '1' }
  const beside = await openForCommand(first.context.config.databaseUrl, silent)
  await acceptLimits(beside, await listSmaller(beside.db, readConfig(lowered)))
  await beside.close()
  const app = await buildApp(t, lowered, { dataDir: first.dataDir })
  const ada = await app.user(first.name)
  t.equal((await pullAll(ada)).changes.length, 2)
  await refused(t, app, 'a longer one', () => ada.call('PUT', '/api/v1/bookmarks/old', { body: data(11) }))
  await refused(t, app, 'a new one', () => push(ada, change({ entity_id: 'new', ...data(1) })))
  const swap = [
    change({ entity_id: 'old', operation: 'update', ...data(1) }),
    change({ entity_id: 'other', ...data(19) }),
  ]
  t.equal((await push(ada, ...swap)).status, 200, 'as many bytes as before, distributed differently')
  t.equal((await ada.call('PUT', '/api/v1/bookmarks/other', { body: data(18) })).status, 200, 'fewer bytes succeed')
  t.equal((await ada.call('DELETE', '/api/v1/bookmarks/old')).status, 200)
  t.equal((await push(ada, gone('other', { timestamp: Date.now() + 1000 }))).body.accepted, 1)
  t.same(await usage(app.context, ada.userId), await countUsage(app.context, ada.userId))

  const bob = await app.user('bob above')
  await bob.call('DELETE', '/api/v1/bookmarks/x')
  const { versions } = (await bob.call('GET', '/api/v1/bookmarks/x/versions')).body
  t.equal(versions.length, 1, 'a delete makes room only for the version that it creates')
  const oldest = { version_id: versions[0]?.version_id }
  const restored = await bob.call('POST', '/api/v1/bookmarks/x/restore', { body: oldest })
  t.equal(restored.status, 200, 'restoring a stored version needs no more room')
})

t.test('When 16 writers write at once, exactly the limit is stored', async (t) => {
  const most = { bytes: depth(1000, 2000), records: depth(100, 200) }
  for (const [name, env] of [
    ['bytes', maxUserBytes(most.bytes, most.records)],
    ['records', { MAX_USER_RECORDS: `${most.records}` }],
  ] as const) {
    const app = await buildApp(t, env)
    const ada = await app.user('ada')
    const answers = await Promise.all(Array.from({ length: 16 }, (_, index) => fill(ada, index)))
    t.same(await usage(app.context, ada.userId), most, name)
    t.same(await countUsage(app.context, ada.userId), most)
    t.equal(
      answers.reduce((sum, stored) => sum + stored, 0),
      most.records,
      'the responses match the stored records',
    )
  }
})

/** Stores records of 10 bytes, 7 at a time and then one by one, until there is no room. Returns their number. */
async function fill(user: TestUser, writer: number): Promise<number> {
  const [, write] = writes[writer % 3] as (typeof writes)[number]
  const name = (round: number) => `w${writer}-${round}`
  let stored = 0
  for (let round = 0, answer = 200; answer === 200; round += 1) {
    const changes = Array.from({ length: 7 }, (_, index) =>
      change({ entity_id: `${name(round)}-${index}`, ...data(10) }),
    )
    answer = (await push(user, ...changes)).status
    if (answer === 200) stored += changes.length
  }
  for (let round = 0; ; round += 1) {
    const { status } = await write(user, name(round), 10)
    if (status === 413) return stored
    if (status >= 300) throw new Error(`answered ${status}`)
    stored += 1
  }
}
