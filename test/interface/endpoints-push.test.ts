import t from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll } from '../support/changes.ts'
import { pick } from '../support/pick.ts'

const app = await buildApp(t)
const content = { encrypted_data: 'AWVuY3J5cHRlZA==', data_hash: 'hash' }
type Change = ReturnType<typeof change>

t.test('POST /api/v1/sync/push | changes (sync event[], required) | 200: accepted, conflicts. 400', async (t) => {
  const ada = await app.user('ada push')
  const first = change({ entity_id: 'b1', timestamp: 2000, device_id: 'desk' })
  const loser = change({ entity_id: 'b1', timestamp: 1000, device_id: 'phone' })
  const other = change({ entity_id: 'b2', timestamp: 1000, device_id: 'phone', operation: 'delete' })
  const before = Date.now()
  const { status, body } = await push(ada, first, loser, other)
  t.equal(status, 200)
  t.same([body.accepted, body.accepted_ids], [2, [first.id, other.id]])
  t.same(pick(body.conflicts, 'event_id'), [loser.id])
  t.ok(body.timestamp >= before && body.timestamp <= Date.now(), "timestamp is the server's time")
  t.same((await push(ada)).body.accepted, 0, 'no changes')
  t.same((await push(ada, { ...first, user_id: ada.userId })).body.accepted, 1, 'a retry, with a user_id')
  const { user_id: _, ...foreign } = change({ entity_id: 'b3' })
  const { body: refused } = await push(ada, { ...foreign, user_id: 'somebody' })
  t.match(refused.conflicts, [
    { entity_id: 'b3', reason: 'The change belongs to another user', resolution: 'rejected' },
  ])
  const late = await push(ada, change({ entity_id: 'b3', timestamp: Date.now() + 86_500_000 }))
  t.match(late.body.conflicts, [{ reason: /^The timestamp is more than 24 hours ahead of the server's time \d+$/ }])

  for (const field of [
    'id',
    'entity_type',
    'entity_id',
    'operation',
    'timestamp',
    'device_id',
    'encrypted_data',
  ] as const) {
    const { [field]: _, ...rest } = change({ entity_id: 'b4' })
    const answer = await push(ada, change({ entity_id: 'b5' }), rest as Change)
    t.same([answer.status, answer.body], [400, { error: 'Invalid changes format' }], `without ${field}`)
  }
  const known = (await pullAll(ada)).changes.map(({ entity_id }) => entity_id)
  t.same(known, ['b1', 'b2'], 'one malformed change: nothing is applied')
})

t.test('Push conflict rule', async (t) => {
  const ada = await app.user('ada rule')
  const rules: [name: string, winner: Partial<Change>, loser: Partial<Change>][] = [
    [
      '1. Compare the timestamps of the pushed change and the server version.',
      { timestamp: 2001 },
      { timestamp: 2000 },
    ],
    [
      '2. If the timestamps are equal, compare device_id values lexicographically.',
      { timestamp: 2000, device_id: 'b' },
      { timestamp: 2000, device_id: 'B' },
    ],
  ]
  for (const [name, greater, lesser] of rules) {
    t.test(name, async (t) => {
      for (const order of ['winner last', 'winner first']) {
        const winner = change({ entity_id: `${name.length} ${order}`, ...greater })
        const loser = change({ entity_id: `${name.length} ${order}`, ...lesser })
        const pushes = order === 'winner last' ? [loser, winner] : [winner, loser]
        const accepted: number[] = []
        for (const event of pushes) accepted.push((await push(ada, event)).body.accepted)
        t.same(accepted, order === 'winner last' ? [1, 1] : [1, 0], order)
        const { body } = await ada.call('GET', `/api/v1/bookmarks/${encodeURIComponent(winner.entity_id)}`)
        t.equal(body.data_hash, winner.data_hash, 'the winner is kept')
      }
    })
  }
  t.test('3. The winner is kept; the loser is rejected and reported in conflicts.', async (t) => {
    const [winner, loser] = [2000, 1000].map((timestamp) => change({ entity_id: 'rule 3', timestamp }))
    await push(ada, { ...(winner as Change), device_id: 'desk' })
    const { body } = await push(ada, loser as Change)
    t.same(body.accepted_ids, [])
    t.match(body.conflicts, [{ entity_id: 'rule 3', resolution: 'rejected', event_id: loser?.id }])
    t.equal((await ada.call('GET', '/api/v1/bookmarks/rule%203')).body.data_hash, winner?.data_hash)
  })
})

t.test("POST /api/v1/sync/import | X-Device-ID (optional, default 'unknown') | 200", async (t) => {
  const ada = await app.user('ada import')
  const importAll = (bookmarks: object[], headers = {}) =>
    ada.call('POST', '/api/v1/sync/import', { body: { bookmarks }, headers })
  await importAll([{ id: 'b1', ...content }])
  await importAll([{ id: 'b2', ...content }], { 'x-device-id': 'phone' })
  const devices = (await pullAll(ada)).changes.map(({ device_id, operation }) => [device_id, operation])
  t.same(devices, [
    ['unknown', 'create'],
    ['phone', 'create'],
  ])

  t.test('Import rule: one that fails is reported in errors with its id; the others are imported.', async (t) => {
    const before = Date.now()
    const { status, body } = await importAll([
      { id: 'b1', ...content },
      { id: 'b3', ...content },
      { id: 'b4', data_hash: 'x' },
      { id: 'b3', ...content },
      { id: 'b5', ...content, unknown: true },
    ])
    t.equal(status, 200)
    t.same([body.imported, body.imported_ids], [2, ['b3', 'b5']])
    t.same(body.errors, [
      { id: 'b1', error: 'Bookmark already exists' },
      { id: 'b4', error: 'encrypted_data is required' },
      { id: 'b3', error: 'Bookmark already exists' },
    ])
    t.ok(body.timestamp >= before && body.timestamp <= Date.now())
  })
})

function push(user: TestUser, ...changes: Change[]) {
  return user.call('POST', '/api/v1/sync/push', { body: { changes } })
}
