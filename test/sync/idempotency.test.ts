import fc from 'fast-check'
import t from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import type { Answered } from '../support/contract.ts'
import { isPostgres } from '../support/database-url.ts'
import { depth } from '../support/depth.ts'

const bookmarks = '/api/v1/bookmarks'
const exports = '/api/v1/exports'
const bodies = ['hash-1', 'hash-2'].map((data_hash) => ({ encrypted_data: 'data', data_hash }))
const [body, other] = bodies
/** A key in the form of the IETF draft: a quoted string. */
const key = '"8e03978e-40d5-43e8-bc93-6894a57f9324"'
const made = (answer: Answered) => [answer.status, answer.body]
const error = (answer: Answered) => [answer.status, answer.headers['x-error-code']]

let first = await buildApp(t)
/** On Postgres, a repeated request may reach another instance. */
const second = isPostgres ? await buildApp(t, {}, first) : first
// Without a worker, exports stay pending.
for (const { context } of [first, second]) await context.exportWorker.close()

const create = (user: TestUser, body: unknown, headers: Record<string, string> = { 'idempotency-key': key }) =>
  user.call('POST', bookmarks, { body, headers })
const order = (user: TestUser, key: string) => user.call('POST', exports, { headers: { 'idempotency-key': key } })
const ids = async (user: TestUser) =>
  (await user.call('GET', bookmarks)).body.data.map(({ id }: { id: string }) => id).sort()
const exportIds = async (user: TestUser) =>
  (await user.call('GET', exports)).body.exports.map(({ id }: { id: string }) => id)

const request = fc.record({ key: fc.nat(1), body: fc.nat(1), isSecond: fc.boolean() })
const step = fc.oneof(
  { weight: 3, arbitrary: fc.array(request, { minLength: 1, maxLength: 4 }) },
  { weight: 1, arbitrary: fc.record({ key: fc.nat(1), method: fc.constantFrom('PUT', 'DELETE') }) },
)

/** A sequence that gets every kind of answer, in case no random one does. */
const each = [
  [0, 0, 1].map((body) => ({ key: 0, body, isSecond: false })),
  { key: 0, method: 'PUT' },
  [{ key: 0, body: 0, isSecond: true }],
]

t.test('Concurrent requests with two keys and bodies: each key makes one bookmark and one answer', async (t) => {
  let run = 0
  const seen = new Set<number>()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
      const ada = await first.user(`run ${++run}`)
      const answers: { body: number; text: string; isChanged: boolean; isDeleted: boolean }[] = []
      for (const step of steps) {
        if (!Array.isArray(step)) {
          const known = answers[step.key]
          if (!known || known.isDeleted) continue
          const path = `${bookmarks}/${JSON.parse(known.text).id}`
          await ada.call(step.method, path, step.method === 'PUT' ? { body: other } : {})
          answers[step.key] = { ...known, isChanged: true, isDeleted: step.method === 'DELETE' }
          continue
        }
        const sent = step.map(async ({ key, body, isSecond }) => {
          const user = isSecond ? second.as(ada) : ada
          const answer = await create(user, bodies[body], { 'idempotency-key': `key-${key}` })
          return { key, body, status: answer.status, text: JSON.stringify(answer.body) }
        })
        const received = (await Promise.all(sent)).sort((one, another) => one.status - another.status)
        for (const { key, body, status, text } of received) {
          seen.add(status)
          // The first answer to a key counts, and no request with the key is refused before that.
          const known = answers[key] ?? { body, text, isChanged: false, isDeleted: false }
          answers[key] = known
          const expected = known.isChanged ? 409 : known.body === body ? 201 : 422
          if (status !== expected || (status === 201 && text !== known.text)) return false
        }
      }
      const live = answers.flatMap(({ text, isDeleted }) => (isDeleted ? [] : [JSON.parse(text).id]))
      return JSON.stringify(await ids(ada)) === JSON.stringify(live.sort())
    }),
    { numRuns: depth(15, 200), examples: [[each]] },
  )
  t.strictSame([...seen].sort(), [201, 409, 422])
})

t.test('Keys of different users are separate, and a refused repeat changes nothing', async (t) => {
  const [ada, bob] = [await first.user('ada'), await first.user('bob')]
  const [hers, his] = [await create(ada, body), await create(bob, body)]
  t.strictSame([hers.status, his.status], [201, 201])
  t.not(hers.body.id, his.body.id)
  t.match(hers.body.id, /^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  const before = (await ada.call('GET', '/api/v1/sync/status')).body.latest_change_timestamp
  const refused = await create(ada, other)
  t.strictSame(error(refused), [422, 'IdempotencyKeyUsed'])
  t.strictSame(
    made(await create(ada, { ...body, ignored: 'field' }, { 'idempotency-key': key, 'x-device-id': 'phone' })),
    made(hers),
  )
  t.strictSame(await ids(ada), [hers.body.id])
  t.equal((await ada.call('GET', '/api/v1/sync/status')).body.latest_change_timestamp, before)
  t.strictSame(made(await ada.call('GET', `${bookmarks}/${hers.body.id}`)), [200, hers.body])
})

t.test('A key is ignored if the request has an id', async (t) => {
  const ada = await first.user('ada with ids')
  for (const id of ['one', 'two']) t.equal((await create(ada, { id, ...body })).status, 201)
  t.strictSame(error(await create(ada, { id: 'one', ...body })), [409, 'BookmarkExists'])
  t.strictSame(await ids(ada), ['one', 'two'])
})

t.test('A key that is not 1 to 128 printable characters is refused', async (t) => {
  const ada = await first.user('ada with faults')
  for (const value of ['', 'x'.repeat(129), 'é']) {
    for (const send of [create(ada, body, { 'idempotency-key': value }), order(ada, value)]) {
      const expected = 'idempotency-key must be a string of 1 to 128 printable ASCII characters'
      t.strictSame(made(await send), [400, { error: expected }], value)
    }
  }
  t.strictSame([await ids(ada), await exportIds(ada)], [[], []])
})

t.test('An export requested several times with a key, at once or later, is made once', async (t) => {
  const [ada, bob] = [await first.user('ada exports'), await first.user('bob exports')]
  const users = [ada, second.as(ada), ada, second.as(ada)]
  const [one, ...others] = await Promise.all(users.map((user) => order(user, key)))
  t.equal(one?.status, 201)
  for (const answer of others) t.strictSame(made(answer), made(one as Answered))
  t.strictSame(await exportIds(ada), [one?.body.id])
  t.not((await order(bob, key)).body.id, one?.body.id)

  const { db } = first.context.database
  const done = { status: 'completed', size_bytes: 1, bookmark_count: 0, expires_at: Date.now() + 60_000 } as const
  await db.updateTable('exports').set(done).where('user_id', '=', ada.userId).execute()
  for (const name of ['two', 'three', 'four']) t.equal((await order(ada, name)).status, 201)
  t.strictSame(error(await order(ada, 'five')), [429, 'TooManyExports'])
  t.strictSame(made(await order(ada, key)), made(one as Answered), 'also if the limit of exports is reached')

  await ada.call('DELETE', `${exports}/${one?.body.id}`)
  await ada.call('DELETE', `${exports}/${(await order(ada, 'two')).body.id}`)
  const again = await order(ada, key)
  t.equal(again.status, 201)
  t.not(again.body.id, one?.body.id, 'after the export was deleted, another one is made')
})

t.test('Keys survive a restart', async (t) => {
  const ada = await first.user('ada stays')
  const before = [made(await create(ada, body)), made(await order(ada, key))]
  await first.close()
  first = await buildApp(t, {}, first)
  const after = first.as(ada)
  t.strictSame([made(await create(after, body)), made(await order(after, key))], before)
})
