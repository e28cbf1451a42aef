/** Open conflicts of a service that keeps no versions: the last rejected change of each entity. */
import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { depth } from '../support/depth.ts'

const { user, context } = await buildApp(t, { KEEP_VERSIONS_DAYS: '0' })
let people = 0
/** A new one for each test. */
const person = () => user(`person ${++people}`)

type Entity = Pick<Schemas['Change'], 'entity_type' | 'entity_id'>

const countOpen = async (user: TestUser): Promise<number> =>
  (await user.call('GET', '/api/v1/sync/status')).body.conflict_count
const edits = (entities: Entity[], device_id: string, timestamp: number) =>
  entities.map((entity) => change({ ...entity, device_id, timestamp, operation: 'update' }))

/** Ids with every printable ASCII character; a bookmark and a group share each of them. */
const ids = Array.from(
  { length: depth(190, 1000) },
  (_, index) => `${String.fromCharCode(0x20 + (index % 95))}"\\'{},$1?${index}`,
)
const entities = ids.flatMap((entity_id): Entity[] =>
  (['bookmark', 'group'] as const).map((entity_type) => ({ entity_type, entity_id })),
)

t.test('Many losers at once: each is an open conflict until a newer change of that entity', async (t) => {
  const [ada, bob] = [await person(), await person()]
  for (const one of [ada, bob]) {
    await push(one, ...edits(entities, 'device-a', 2000))
    t.equal((await push(one, ...edits(entities, 'device-b', 1000))).body.conflicts.length, entities.length)
    t.equal(await countOpen(one), entities.length)
  }
  t.equal((await push(ada, ...edits(entities, 'device-b', 1500))).body.conflicts.length, entities.length)
  t.equal(await countOpen(ada), entities.length, 'one for each entity')
  const bookmarks = entities.filter(({ entity_type }) => entity_type === 'bookmark')
  const newer = bookmarks.slice(0, depth(80, 400))
  await push(ada, ...edits(newer, 'device-a', 3000))
  t.equal(await countOpen(ada), entities.length - newer.length)
  t.equal(await countOpen(bob), entities.length, "another user's stay open")
})

t.test('Many losers at once: each is an open conflict until its device has pulled the winner', async (t) => {
  const ada = await person()
  const pullBy = (device: string) => pullAll(ada, { headers: { 'x-device-id': device } })
  await push(ada, ...edits(entities, 'device-a', 2000))
  await push(ada, ...edits(entities, 'device-b', 1000))
  const lostLast = entities.slice(0, depth(60, 300))
  await push(ada, ...edits(lostLast, 'device-c', 1500))
  await pullBy('device-a')
  t.equal(await countOpen(ada), entities.length)
  await pullBy('device-b')
  t.equal(await countOpen(ada), lostLast.length, 'the device that lost last counts')
  await pullBy('device-c')
  t.equal(await countOpen(ada), 0)
})

t.test('A pull that has come as far as some winners leaves the conflicts with later ones open', async (t) => {
  const ada = await person()
  const some = entities.slice(0, 4)
  for (const entity of some) await push(ada, ...edits([entity], 'device-a', 2000))
  await push(ada, ...edits(some, 'device-b', 1000))
  const first = { headers: { 'x-device-id': 'device-b' }, body: { since: 0, limit: 1 } }
  await ada.call('POST', '/api/v1/sync/pull', first)
  t.equal(await countOpen(ada), some.length - 1)
})

t.test(
  'If the device had pulled the winner before losing, its next pull settles the conflict, even empty',
  async (t) => {
    const ada = await person()
    const pullBy = (device: string) => pullAll(ada, { headers: { 'x-device-id': device } })
    await push(ada, ...edits(entities.slice(0, 1), 'device-a', 2000))
    await pullBy('device-b')
    await push(ada, ...edits(entities.slice(0, 1), 'device-b', 1000))
    await pullBy('device-c')
    t.equal(await countOpen(ada), 1, "another device's pull does not settle it")
    await pullBy('device-b')
    t.equal(await countOpen(ada), 0)
  },
)

t.test('Open conflicts are counted up to 10,000, and a pull settles as many; the next settles the rest', async (t) => {
  const { db } = context.database
  const ada = await person()
  const rows = Array.from({ length: 12_000 }, (_, index) => ({
    user_id: ada.userId,
    entity_type: 'bookmark' as const,
    entity_id: `x${index}`,
    device_id: 'device-b',
    winner_stamp: 0,
    created_at: 1,
  }))
  for (let first = 0; first < rows.length; first += 4000) {
    await db
      .insertInto('rejections')
      .values(rows.slice(first, first + 4000))
      .execute()
  }
  const counts = [await countOpen(ada)]
  for (const _ of ['most', 'the rest']) {
    await ada.call('POST', '/api/v1/sync/pull', { headers: { 'x-device-id': 'device-b' } })
    counts.push(await countOpen(ada))
  }
  t.same(counts, [10_000, 2000, 0])
})
