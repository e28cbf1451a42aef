import t from 'tap'
import { countChanges, findChange, listChangePage } from '../../src/service/db/tables/changes.ts'
import { buildApp } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { pick } from '../support/pick.ts'

t.test('A page of changes ends with the row that reaches a limit', async (t) => {
  const { context, user } = await buildApp(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const sizes = [10, 20, 30, 40]
  const changes = sizes.map((size, index) => change({ entity_id: `x${index}`, encrypted_data: 'x'.repeat(size) }))
  await push(ada, ...changes)
  await push(bob, ...changes)
  const { db } = context.database
  const page = async (since: number, limits: { rows: number; bytes: number }) =>
    listChangePage(db, ada.userId, since, limits)
  const all = await page(0, { rows: 10, bytes: 1000 })
  t.same(pick(all, 'entity_id'), ['x0', 'x1', 'x2', 'x3'])
  t.ok(all.every((row) => row.user_id === ada.userId))
  const ids = async (...args: Parameters<typeof page>) => (await page(...args)).map((row) => row.entity_id)
  t.same(await ids(0, { rows: 2, bytes: 1000 }), ['x0', 'x1'])
  t.same(await ids(0, { rows: 10, bytes: 1 }), ['x0'], 'at least one')
  t.same(await ids(0, { rows: 10, bytes: 30 }), ['x0', 'x1'])
  t.same(await ids(0, { rows: 10, bytes: 31 }), ['x0', 'x1', 'x2'])
  t.same(await ids(all[1]?.stamp ?? 0, { rows: 10, bytes: 31 }), ['x2', 'x3'])
  t.same(await ids(all[3]?.stamp ?? 0, { rows: 10, bytes: 31 }), [])
})

t.test("An entity's newest change is found, a deletion too", async (t) => {
  const { context, user } = await buildApp(t)
  const ada = await user('ada')
  const changes = [change({ entity_id: 'x', operation: 'delete' }), change({ entity_id: 'x', entity_type: 'group' })]
  await push(ada, ...changes)
  const { db } = context.database
  const found = async (entity_type: 'bookmark' | 'group' | 'history', userId = ada.userId) =>
    (await findChange(db, { userId, entity_type, entity_id: 'x' }))?.event_id
  t.same([await found('bookmark'), await found('group')], pick(changes, 'id'))
  t.same([await found('history'), await found('bookmark', 'bob')], [undefined, undefined])
})

t.test('Changes of other devices are counted up to the maximum; so are devices that changed nothing', async (t) => {
  const { context, user } = await buildApp(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const devices = ['a', 'b', 'b', 'c', 'd']
  const changes = devices.map((device_id, index) => change({ entity_id: `x${index}`, device_id }))
  const stamps: number[] = []
  for (const person of [ada, bob]) {
    await push(person, ...changes)
    stamps.push((await person.call('POST', '/api/v1/sync/pull')).body.last_sync_timestamp)
  }
  const { db } = context.database
  const count = (since: number, device: string, max: number) => countChanges(db, ada.userId, since, device, max)
  const last = stamps[0] ?? 0
  t.same(
    [await count(0, '', 10), await count(0, 'b', 10), await count(0, 'new', 10), await count(0, 'b', 2)],
    [5, 3, 5, 2],
    'of all but one',
  )
  t.same([await count(last, 'b', 4), await count(last - 1, 'b', 4), await count(last - 1, 'd', 4)], [0, 1, 0])
  t.equal(await count(last, 'b', 3), 3, 'too many devices to tell')
})
