/** The service keeps no versions of history. It erases replaced and deleted contents at once, to save quota. */
import { sql } from 'kysely'
import t from 'tap'
import { recountUser } from '../../src/service/upkeep/recount.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { sweepVersions } from '../support/sweeps.ts'
import { countUsage, maxUserBytes, usage } from '../support/usage.ts'

t.test('A history entry has no versions, and its data is erased when it is replaced or deleted', async (t) => {
  const { context, user } = await buildApp(t)
  const ada = await user('ada')
  const { db } = context.database
  const visit = (timestamp: number, fields = {}) =>
    change({ entity_type: 'history', entity_id: 'page', timestamp, device_id: 'a', ...fields })
  const of = async () => {
    const { rows: texts } = await sql<{ encrypted_data: string }>`
      select encrypted_data from records where user_id = ${ada.userId} and encrypted_data is not null
      union all select encrypted_data from ciphertexts where user_id = ${ada.userId}`.execute(db)
    const counters = db
      .selectFrom('users')
      .select(['stored_bytes', 'version_bytes', 'stored_versions', 'empty_tombstones'])
      .where('id', '=', ada.userId)
    t.equal(await context.database.write((trx) => recountUser(trx, ada.userId)), undefined, 'the counters are right')
    return { texts: texts.map((row) => row.encrypted_data), ...(await counters.executeTakeFirstOrThrow()) }
  }
  const nothing = { texts: [], stored_bytes: 0, version_bytes: 0, stored_versions: 0, empty_tombstones: 0 }
  await push(ada, visit(1000, { encrypted_data: 'first' }))
  for (let visits = 2; visits <= 60; visits++)
    await push(ada, visit(1000 * visits, { encrypted_data: `visit ${visits}` }))
  t.same(await of(), { ...nothing, texts: ['visit 60'], stored_bytes: 8 })
  const { body } = await push(ada, visit(500, { encrypted_data: 'late', device_id: 'b' }))
  t.match(body, { accepted: 0, conflicts: [{ entity_id: 'page' }] })
  t.same(
    await of(),
    { ...nothing, texts: ['visit 60'], stored_bytes: 8 },
    'a losing change is not kept, and is not an open conflict',
  )
  await push(ada, visit(61_000, { encrypted_data: 'unseen', device_id: 'b', base: 0 }))
  t.same((await ada.call('GET', '/api/v1/sync/conflicts')).body.conflicts, [])
  await push(ada, visit(62_000, { operation: 'delete' }))
  t.same(await of(), { ...nothing, empty_tombstones: 1 }, 'only an empty tombstone is kept')
  const { body: rewound } = await ada.call('POST', '/api/v1/sync/rewind', { body: { to: 1, dry_run: false } })
  t.match(rewound, { restored: 0, deleted: 0, unchanged: 1, beyond_retention: 0 })
  await push(ada, visit(63_000, { encrypted_data: 'again' }))
  t.same(await of(), { ...nothing, texts: ['again'], stored_bytes: 5 })
})

t.test('In a full account, deleting history makes room for a bookmark', async (t) => {
  const { user } = await buildApp(t, { MAX_USER_BYTES: '8000' })
  const ada = await user('ada')
  const encrypted_data = 'x'.repeat(1400)
  const visits = ['a', 'b', 'c', 'd'].map((entity_id) => change({ entity_type: 'history', entity_id, encrypted_data }))
  t.equal((await push(ada, ...visits)).body.accepted, 4)
  const bookmark = change({ entity_id: 'bookmark', encrypted_data })
  t.equal((await push(ada, bookmark)).status, 413)
  const gone = change({ entity_type: 'history', entity_id: 'a', operation: 'delete', timestamp: Date.now() + 1 })
  t.equal((await push(ada, gone)).body.accepted, 1)
  t.equal((await push(ada, bookmark)).body.accepted, 1)
})

for (const type of ['bookmark', 'group', 'history'] as const) {
  t.test(`${type}: the quota is exact, versions are kept as specified, and deleted data is erased`, async (t) => {
    const { context, user, setClock } = await buildApp(t, maxUserBytes(800, 2))
    const ada = await user('ada')
    const of = (entity_id: string, timestamp: number, bytes: number) =>
      change({ entity_type: type, entity_id, timestamp, device_id: 'a', encrypted_data: 'x'.repeat(bytes) })
    const stored = async ({ userId }: TestUser) => {
      const counted = await countUsage(context, userId)
      t.same(await usage(context, userId), counted, 'the counters are right')
      return [counted.bytes, counted.records]
    }
    await push(ada, of('a', 1000, 400))
    await push(ada, of('a', 2000, 300))
    t.same(await stored(ada), [type === 'history' ? 300 : 700, 1], 'all types but history keep a version')
    await push(ada, of('b', 3000, 500))
    t.same(await stored(ada), [800, 2], 'exactly full: a version was erased to make room')
    for (const more of [of('c', 4000, 1), of('b', 4000, 501)]) t.equal((await push(ada, more)).status, 413)
    t.equal((await push(ada, of('b', 4000, 500))).status, 200)

    const bob = await user('bob')
    await push(bob, of('a', 1000, 100))
    await push(bob, change({ entity_type: type, entity_id: 'a', timestamp: 2000, device_id: 'a', operation: 'delete' }))
    t.same(await stored(bob), [type === 'history' ? 0 : 100, 1], 'history is erased at once')
    const later = Date.now() + 31 * 86_400_000
    setClock(later)
    await sweepVersions(context, later)
    t.same(await stored(bob), [0, 1], 'other types are erased after 30 days')
    t.match((await pullAll(await user('bob'))).changes, [{ entity_id: 'a', operation: 'delete' }])
  })
}
