import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { onRead, watchReads } from '../support/database.ts'
import { countPerTurn } from '../support/per-turn.ts'
import { until } from '../support/until.ts'
import { openUnread, storeMuch } from './unread.ts'

const mebibyte = 1024 * 1024
const list = '/api/v1/bookmarks?limit=1000'
const pull = '/api/v1/sync/pull'

t.test('What a user leaves unread is bounded: reads beyond it are refused, and others are not concerned', async (t) => {
  const app = await buildApp(t)
  const { responses } = app.context
  const origin = await app.listen()
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const [id] = await storeMuch(app, ada)
  const mostRead = watchReads(app.context)

  const unread = []
  while (unread.length < 20)
    unread.push(await openUnread(t, origin, ada, unread.length % 2 ? pull : list, pullBody(unread.length)))
  t.same(new Set(unread.map(({ status }) => status)), new Set([200]))
  t.equal(responses.held(), 20 * 1.5 * mebibyte, 'each holds a part, however long it is')
  t.equal(mostRead(), mebibyte / 2, 'and no more is read at a time')

  for (const [method, path] of [
    ['GET', list],
    ['POST', pull],
  ] as const)
    await ada.call(method, path)
  t.equal(responses.held(), 20 * 1.5 * mebibyte, 'what is read holds nothing')
  unread.push(await openUnread(t, origin, ada, list))
  const refused = [await ada.call('GET', list), await ada.call('POST', pull)]
  t.match(
    refused,
    Array(2).fill({ status: 503, body: { error: 'Service unavailable' }, headers: { 'retry-after': '1' } }),
  )
  t.equal((await ada.call('GET', `/api/v1/bookmarks/${id}`)).status, 200, 'what fits in is served')
  t.equal((await ada.call('DELETE', `/api/v1/bookmarks/${id}`)).status, 200, 'a write is always answered')
  t.equal((await bob.call('GET', list)).status, 200)
  t.match(app.log.join(''), /too many bytes of responses in memory/)

  for (const { abort } of unread) abort()
  await until(() => responses.held() === 0)
  t.equal((await ada.call('GET', list)).body.data.length, 63)
})

const pullBody = (index: number) => (index % 2 ? { limit: 10_000 } : undefined)

t.test(
  'Of the responses that one user asks for at once, a few parts are read between two turns of the event loop',
  async (t) => {
    const { context, user } = await buildApp(t)
    const ada = await user('ada')
    const large = Array.from({ length: 5 }, (_, n) =>
      change({ entity_id: `large-${n}`, encrypted_data: 'x'.repeat(262_144) }),
    )
    await ada.call('POST', '/api/v1/sync/push', { body: { changes: large } })
    const reads = countPerTurn(t)
    onRead(context, () => reads.add(1))
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 ? ada.call('POST', pull) : ada.call('GET', list))),
    )
    t.equal(reads.all, 20 * 3, 'each in three parts')
    t.ok(reads.most <= 8, `${reads.most} parts`)
  },
)

t.test('A caller who is gone before the response is ready leaves nothing behind', async (t) => {
  const app = await buildApp(t)
  const { responses, database } = app.context
  const origin = await app.listen()
  const ada = await app.user('ada')
  const { write } = database
  const [begun, finish, finished] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  database.write = async (work) => {
    begun?.resolve()
    await finish?.promise
    return write(work).finally(finished?.resolve)
  }
  const caller = new AbortController()
  const headers = { cookie: ada.cookie, 'x-device-id': 'phone' }
  const answer = fetch(origin + pull, { method: 'POST', headers, signal: caller.signal })
  await begun?.promise
  caller.abort()
  await t.rejects(answer)
  const connections = () =>
    new Promise<number>((resolve) => app.app.server.getConnections((_, count) => resolve(count)))
  await until(async () => (await connections()) === 0)
  finish?.resolve()
  await finished?.promise
  await eventLoopTurn()
  t.equal(responses.held(), 0)
})
