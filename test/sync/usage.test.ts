import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { quotas } from '../../generated/limits.ts'
import type { Context } from '../../src/service/context.ts'
import { entityKey } from '../../src/service/db/tables/records.ts'
import { findCounters } from '../../src/service/db/tables/users.ts'
import { recount } from '../../src/service/upkeep/recount.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { depth } from '../support/depth.ts'
import { maxUserBytes } from '../support/usage.ts'

const numRuns = depth(12, 60)
const limits = { bytes: 60, records: 5 }

const entity = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
const bytes = fc.integer({ min: 1, max: 30 })
const edit = fc.record({
  entity,
  bytes,
  operation: fc.constantFrom('create' as const, 'update' as const, 'delete' as const),
  type: fc.constantFrom('bookmark' as const, 'bookmark' as const, 'group' as const),
  device: fc.constantFrom('device-a', 'device-b'),
  /** Relative to the server's time, so that edits win and lose. */
  hours: fc.integer({ min: -5, max: 5 }),
})
const step = fc.oneof(
  fc.record({ kind: fc.constant('push' as const), edits: fc.array(edit, { minLength: 1, maxLength: 4 }) }),
  fc.record({ kind: fc.constant('import' as const), items: fc.array(fc.record({ entity, bytes }), { maxLength: 3 }) }),
  fc.record({ kind: fc.constantFrom('POST' as const, 'PUT' as const, 'DELETE' as const), entity, bytes }),
)
type Value<T> = T extends fc.Arbitrary<infer V> ? V : never

t.test('Without versions: after any pushes, imports, writes and deletes the counters match the table', async (t) => {
  const app = await buildApp(t, {
    ...maxUserBytes(limits.bytes, limits.records),
    MAX_USER_RECORDS: `${limits.records}`,
    KEEP_VERSIONS_DAYS: '0',
  })
  const answers: Record<number, number> = {}
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
      run += 1
      const user = await app.user(`user-${run}`)
      let before = await read(app.context, user)
      for (const next of steps) {
        const { status } = await take(user, next)
        answers[status] = (answers[status] ?? 0) + 1
        const after = await read(app.context, user)
        assert.deepEqual(after.counted, after.held)
        assert.ok(isWithin(after.held), 'within the limits')
        assert.deepEqual(
          sizesByRecord(after),
          sizesByCiphertext(after),
          'each record has its own ciphertext, no other is left',
        )
        const known = new Set(after.records.map(entityKey))
        assert.ok(
          after.rejections.map(entityKey).every((key) => known.has(key)),
          'open conflicts belong to known entities',
        )
        if (status === 413) assert.deepEqual(after, before, 'nothing is applied')
        if (status === 413) assert.ok(!hasRoom(next, before.held), 'for a reason')
        before = after
      }
    }),
    { numRuns },
  )
  t.comment(JSON.stringify(answers))
  t.ok((answers[413] ?? 0) > numRuns / 2, 'the limits were met')
})

t.test('What a release without history deleted and this one undeletes does not count as a version', async (t) => {
  const app = await buildApp(t)
  const { database } = app.context
  const ada = await app.user('ada')
  await ada.call('POST', '/api/v1/bookmarks', { body: { id: 'a', ...content(7) } })
  await ada.call('DELETE', '/api/v1/bookmarks/a')
  // As that release leaves it.
  await database.db.deleteFrom('versions').where('user_id', '=', ada.userId).execute()
  await database.db
    .updateTable('users')
    .set({ version_bytes: 0, stored_versions: 0 })
    .where('id', '=', ada.userId)
    .execute()
  await database.db.updateTable('records').set({ versions: 0 }).where('user_id', '=', ada.userId).execute()
  t.equal((await ada.call('POST', '/api/v1/bookmarks/a/restore')).status, 200)
  t.match(await findCounters(database.db, ada.userId), { live_bookmarks: 1, stored_bytes: 7, version_bytes: 0 })
  t.same(await Array.fromAsync(recount(database)), [undefined], 'no counter is wrong')
})

function take(user: TestUser, next: Value<typeof step>): ReturnType<TestUser['call']> {
  if (next.kind === 'push') {
    return push(user, ...next.edits.map(toChange))
  }
  if (next.kind === 'import') {
    const bookmarks = next.items.map(({ entity, bytes }) => ({ id: entity, ...content(bytes) }))
    return user.call('POST', '/api/v1/sync/import', { body: { bookmarks } })
  }
  const { kind, entity, bytes } = next
  if (kind === 'POST') return user.call('POST', '/api/v1/bookmarks', { body: { id: entity, ...content(bytes) } })
  const body = kind === 'PUT' ? content(bytes) : undefined
  return user.call(kind, `/api/v1/bookmarks/${entity}`, { body })
}

function toChange({ entity, bytes, operation, type, device, hours }: Value<typeof edit>) {
  const timestamp = Date.now() + hours * 3_600_000
  const fields = { entity_id: entity, entity_type: type, operation, device_id: device, timestamp }
  return change({ ...fields, ...(operation !== 'delete' && content(bytes)) })
}

function content(bytes: number) {
  return { encrypted_data: 'x'.repeat(bytes), data_hash: randomUUID() }
}

/** Everything that the user's requests may write, with the usage that is counted and the usage that is there. */
async function read({ database: { db } }: Context, { userId }: TestUser) {
  const records = await db.selectFrom('records').selectAll().where('user_id', '=', userId).orderBy('stamp').execute()
  const ciphertexts = await db
    .selectFrom('ciphertexts')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('stamp')
    .execute()
  const rejections = db.selectFrom('rejections').selectAll().where('user_id', '=', userId)
  const devices = db.selectFrom('devices').selectAll().where('user_id', '=', userId)
  const { stored_bytes, stored_records, empty_tombstones: tombstones, ...counters } = await findCounters(db, userId)
  return {
    records,
    ciphertexts,
    rejections: await rejections.orderBy('entity_type').orderBy('entity_id').execute(),
    devices: await devices.orderBy('device_id').execute(),
    counters,
    counted: { bytes: stored_bytes, records: stored_records, tombstones },
    held: {
      bytes: ciphertexts.reduce((sum, { encrypted_data }) => sum + encrypted_data.length, 0),
      records: records.length,
      tombstones: records.filter(({ deleted_at }) => deleted_at !== null).length,
    },
  }
}

type State = Awaited<ReturnType<typeof read>>

function sizesByRecord({ records }: State): [stamp: number | null, bytes: number][] {
  const withData = records.filter(({ data_stamp }) => data_stamp !== null)
  return withData.map(({ data_stamp, bytes }): [number | null, number] => [data_stamp, bytes]).toSorted(byStamp)
}

function sizesByCiphertext({ ciphertexts }: State): [stamp: number | null, bytes: number][] {
  return ciphertexts.map(({ stamp, encrypted_data }) => [stamp, encrypted_data.length])
}

function byStamp([one]: [number | null, number], [other]: [number | null, number]): number {
  return Number(one) - Number(other)
}

/** Deletes always have room; other writes do if they fit beside what is live without replacing anything of it. */
function hasRoom(next: Value<typeof step>, { bytes, records, tombstones }: Held): boolean {
  const items = next.kind === 'push' ? next.edits : next.kind === 'import' ? next.items : [next]
  const stored =
    next.kind === 'DELETE' ? [] : items.filter((item) => !('operation' in item && item.operation === 'delete'))
  const added = stored.reduce((sum, item) => sum + item.bytes, 0)
  return stored.length === 0 || isWithin({ bytes: bytes + added, records: records - tombstones + stored.length })
}

type Held = State['held']

function isWithin({ bytes, records }: typeof limits): boolean {
  const used = bytes + records * quotas.rowBytes
  return used <= limits.bytes + limits.records * quotas.rowBytes && records <= limits.records
}
