/** Sequence numbers start at the time of a change, so two users may have the same ones. */
import t from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'

const conflictsOf = async ({ call }: TestUser) => (await call('GET', '/api/v1/sync/conflicts')).body.conflicts.length
const tombstonesOf = async (user: TestUser) => (await pullAll(user)).changes.map((one) => one.entity_id)

t.test('A rewind that restores a version settles no conflict of another user', async (t) => {
  const { setClock, user } = await buildApp(t)
  const start = Date.now()
  setClock(start)
  const users = [await user('ada'), await user('bob')] as const
  const pushAll = async (timestamp: number, device_id: string) => {
    for (const one of users) await push(one, change({ entity_id: 'x', operation: 'update', timestamp, device_id }))
  }
  await pushAll(start, 'a')
  setClock(start + 1000)
  await pushAll(start + 900, 'b')
  const [ada, bob] = users
  t.same([await conflictsOf(ada), await conflictsOf(bob)], [1, 1])
  setClock(start + 2000)
  const { body } = await ada.call('POST', '/api/v1/sync/rewind', { body: { to: start + 500, dry_run: false } })
  t.match(body, { restored: 1 })
  t.same([await conflictsOf(ada), await conflictsOf(bob)], [0, 1])
})

t.test('At the limit of records, a push erases no tombstones of another user', async (t) => {
  const { setClock, user } = await buildApp(t, { MAX_USER_RECORDS: '3' })
  const start = Date.now()
  setClock(start)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const ids = ['f', 'g']
  for (const one of [ada, bob])
    await push(one, ...ids.map((entity_id) => change({ entity_id, operation: 'delete', timestamp: start })))
  t.same([await tombstonesOf(ada), await tombstonesOf(bob)], [ids, ids])
  setClock(start + 1000)
  const created = ['p', 'q', 'r'].map((entity_id) => change({ entity_id, timestamp: start }))
  t.equal((await push(ada, ...created)).body.accepted, 3)
  t.same([await tombstonesOf(ada), await tombstonesOf(bob)], [['p', 'q', 'r'], ids])
})
