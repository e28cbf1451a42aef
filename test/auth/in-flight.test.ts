import t from 'tap'
import { disableUser } from '../../src/service/commands/accounts.ts'
import { openForCommand } from '../../src/service/db/for-command.ts'
import { endLogin } from '../../src/service/db/tables/logins.ts'
import { type Operation, openUnread } from '../http/unread.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { isPostgres } from '../support/database-url.ts'
import { holdIntervals } from '../support/intervals.ts'
import { silent } from '../support/log.ts'
import { until } from '../support/until.ts'
import { unchecked } from '../sync/unchecked.ts'

const tick = holdIntervals(t)
const app = await buildApp(t)
/** A second instance of the service on Postgres; SQLite allows only one. */
const there = isPostgres ? await buildApp(t, {}, { dataDir: app.dataDir }) : app
const held = () => app.context.gate.streams.load().taken
const logout = '/api/v1/auth/logout'
const large = (entity_id: string, timestamp: number, fields = {}) =>
  change({ entity_id, timestamp, encrypted_data: 'x'.repeat(262_144), ...fields })

/** Stores large records of each kind: live, deleted, replaced and losing. */
async function store(user: TestUser): Promise<void> {
  const now = Date.now()
  const caller = unchecked(app.app, user)
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  await push(caller, ...names.map((name) => large(name, now)))
  await push(caller, ...names.map((name) => large(name, now - 1000, { device_id: 'device-b', base: 0 })))
  for (const name of ['g', 'h', 'i']) {
    await push(caller, large(name, now))
    await push(caller, change({ entity_id: name, timestamp: now + 1, operation: 'delete' }))
  }
  for (let time = 1; time < 4; time++) await push(caller, large('a', now + time, { base: Date.now() + 1000 }))
}

const operations: Operation[] = [
  ['GET', '/api/v1/bookmarks?limit=1000'],
  ['POST', '/api/v1/sync/pull', { limit: 10_000 }],
  ['GET', '/api/v1/trash?limit=1000'],
  ['GET', '/api/v1/bookmarks/a/versions?limit=1000'],
  ['GET', '/api/v1/sync/conflicts?limit=1000'],
  ['GET', '/api/v1/bookmarks/a'],
]

t.test('A signed-in user gets complete responses, even if they are read slowly', async (t) => {
  const ada = await app.user('slow')
  await store(ada)
  for (const operation of operations) {
    const unread = await openUnread(app, ada, operation)
    const { text, complete } = await unread.rest()
    t.same([unread.status, complete], [200, true], operation.join(' '))
    t.ok(JSON.parse(text))
    t.ok(text.length > 262_144)
  }
})

const ends: [title: string, end: (user: TestUser) => Promise<unknown>, seconds: number][] = [
  ['a sign-out here', (user) => user.call('POST', logout), 0],
  ['a sign-out on another instance', (user) => there.as(user).call('POST', logout), 0],
  [
    'the end of the session from another one',
    async ({ loginId }) => (await app.user('ada')).call('DELETE', `/api/v1/account/sessions/${loginId}`),
    0,
  ],
  ['a sign-out whose notice is lost', (user) => app.context.database.write((trx) => endLogin(trx, user)), 30],
  [
    'an operator who disables the user',
    async ({ userId }) => {
      const beside = await openForCommand(app.context.config.databaseUrl, silent)
      t.capture(console, 'log')
      await disableUser(beside, userId)
      await beside.close()
    },
    30,
  ],
]

for (const [title, end, seconds] of ends) {
  t.test(`Responses being sent are cut off by ${title}`, async (t) => {
    const [ada, writer] = [await app.user('ada'), await app.user('ada')]
    await store(ada)
    const bob = await app.user('bob')
    await store(bob)
    const lasting = await openUnread(app, bob, ['GET', '/api/v1/bookmarks?limit=1000'])
    const lastingBytes = held()
    const unread = []
    for (const operation of operations) unread.push(await openUnread(app, ada, operation))
    t.same(new Set(unread.map(({ status }) => status)), new Set([200]))

    await end(ada)
    if (seconds === 0)
      await writer.call('PUT', '/api/v1/bookmarks/f', { body: { encrypted_data: 'written-later', data_hash: 'h' } })
    tick(seconds)
    // This instance would still complete a response before it learns that the login has ended.
    await until(() => held() === lastingBytes)
    for (const [index, one] of unread.entries()) {
      const { text, complete } = await one.rest()
      t.notOk(complete, `${operations[index]}`)
      t.notMatch(text, 'written-later')
    }
    t.equal((await lasting.rest()).complete, true, "another user's response is completed")
    await until(() => held() === 0)
  })
}

t.test('Responses that are being sent are cut off when the account is deleted', async (t) => {
  const [eve, another] = [await app.user('eve'), await app.user('eve')]
  await store(eve)
  const unread = []
  for (const operation of operations) unread.push(await openUnread(app, another, operation))
  t.equal((await eve.call('DELETE', '/api/v1/account')).status, 200)
  await until(() => held() === 0)
  for (const one of unread) t.notOk((await one.rest()).complete)
})
