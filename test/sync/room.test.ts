/** Writes for which more of the user's oldest versions have to go than a transaction erases. */
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { fillAccount, type Sizes, usedBytes as usedBytesOf } from '../../bench/hostile/accounts.ts'
import { quotas } from '../../generated/limits.ts'
import { findCounters } from '../../src/service/db/tables/users.ts'
import { erasableBytes, usedBytes } from '../../src/service/sync/usage.ts'
import { recount } from '../../src/service/upkeep/recount.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { countRows, snapshot } from '../support/database.ts'
import { pick } from '../support/pick.ts'

const sizes = { records: 60, versions: 49, trash: 0, devices: 1 } satisfies Sizes
const filled = usedBytesOf(sizes)
const rowOfOne = quotas.rowBytes + 1

const data = (bytes: number) => ({ encrypted_data: 'x'.repeat(bytes), data_hash: 'hash' })
const create = (user: TestUser, id: string, bytes: number) =>
  user.call('POST', '/api/v1/bookmarks', { body: { id, ...data(bytes) } })
/** Larger than what a transaction erases. */
const large = (name: string) =>
  Array.from({ length: 5 }, (_, index) => change({ entity_id: `${name}${index}`, ...data(250_000) }))

/** Somebody has as many versions as `filled`, under this limit. */
async function openFull(t: Test, maxBytes = filled) {
  const app = await buildApp(t, { MAX_USER_BYTES: `${maxBytes}` })
  const ada = await app.user('ada')
  const run = async (text: string) => void (await sql.raw(text).execute(app.context.database.db))
  await fillAccount({ run, close: async () => {} }, ada, sizes)
  return { ...app, ada }
}

/** Does something before the user's transactions that make room, once `before` of them are over. Returns how many there were. */
function between({ context: { database } }: TestApp, owner: string, before: number, work: () => Promise<void>) {
  const { write } = database
  let count = 0
  database.write = async (inside, ofOwner) => {
    if (ofOwner === owner && count++ === before) await work()
    return write(inside, ofOwner)
  }
  return () => count
}

async function counters({ context: { database } }: TestApp, { userId }: TestUser) {
  for await (const mended of recount(database)) if (mended) throw new Error(`miscounted: ${JSON.stringify(mended)}`)
  const user = await findCounters(database.db, userId)
  return { used: usedBytes(user), erasable: erasableBytes(user), versions: user.stored_versions }
}

t.test(
  'A push for which 2,400 versions go makes room in several transactions, between which others write',
  async (t) => {
    const app = await openFull(t)
    const { ada } = app
    t.equal((await counters(app, ada)).used, filled)
    const bob = await app.user('bob')
    let isAnswered = false
    const transactions = between(app, ada.userId, 2, async () => {
      t.equal((await create(bob, 'of bob', 1)).status, 201)
      t.notOk(isAnswered, "another user's write is answered before")
    })
    const changes = large('new')
    const { status, body } = await push(ada, ...changes)
    isAnswered = true
    t.match([status, body], [200, { accepted: changes.length, conflicts: [] }])
    t.ok(transactions() >= 4, `${transactions()} transactions made room`)
    const { used, versions } = await counters(app, ada)
    const needed = Math.ceil((changes.length * (250_000 + quotas.rowBytes)) / rowOfOne)
    t.equal(versions, sizes.records * sizes.versions - needed, 'as many as are in the way')
    t.ok(used <= filled)
    const { body: left } = await ada.call('GET', '/api/v1/bookmarks/b0/versions')
    const ids = pick(left.versions, 'version_id')
    const newest = ids.map((_, index) => `e${sizes.versions - 1 - index}-0`)
    t.same(ids, newest, 'the oldest went')
  },
)

t.test('Writes at one moment over a lowered limit make its room once, not each of them', async (t) => {
  const maxBytes = filled / 3
  const app = await openFull(t, maxBytes)
  const { ada } = app
  const bytes = 1000
  const answers = await Promise.all([
    ...['a', 'b', 'c', 'd'].map((id) => create(ada, id, bytes)),
    ada.call('DELETE', '/api/v1/bookmarks/b0'),
    push(ada, change({ entity_id: 'f', ...data(bytes) })),
  ])
  t.same(pick(answers, 'status'), [201, 201, 201, 201, 200, 200])
  const { used } = await counters(app, ada)
  t.ok(used <= maxBytes, `${used} of ${maxBytes}`)
  // Each may have erased a part of a version more than it needed, and the delete is what came last.
  const slack = answers.length * (bytes + 2 * rowOfOne)
  t.ok(used > maxBytes - slack, `${used} of ${maxBytes}: no more is gone than is in the way`)
})

t.test('Of large pushes at once that all need room, each makes its own: none takes that of another', async (t) => {
  const app = await openFull(t, 2 * filled)
  const { ada, context } = app
  const updated = (timestamp: number) =>
    large('same').map((one) => ({ ...one, id: `${one.entity_id}-${timestamp}`, timestamp }))
  for (const timestamp of [100, 101]) t.equal((await push(ada, ...updated(timestamp))).status, 200)
  const { writeTogether } = context
  let attempts = 0
  const pushes = [102, 103, 104, 105]
  const allTried = Promise.withResolvers<void>()
  context.writeTogether = (trx, userId, take) => {
    if (++attempts === pushes.length) allTried.resolve()
    return writeTogether(trx, userId, take)
  }
  const { write } = context.database
  context.database.write = async (work, owner) => {
    await allTried.promise
    return write(work, owner)
  }
  const answers = await Promise.all(pushes.map((timestamp) => push(ada, ...updated(timestamp))))
  // On a slow machine, some wait for too long.
  t.ok(answers.every(({ status }) => status === 200 || status === 503))
  t.ok(attempts <= 2 * pushes.length, `${attempts}: one each to learn that it needs room, and one to write`)
  t.ok((await counters(app, ada)).used <= 2 * filled)
})

t.test('What does not fit without any version is refused, and nothing is erased', async (t) => {
  const app = await openFull(t)
  const before = await snapshot(app.context)
  const transactions = between(app, app.ada.userId, 0, async () => {})
  const { status } = await push(app.ada, ...large('a'), ...large('b'))
  t.equal(status, 413)
  t.equal(await snapshot(app.context), before)
  t.equal(transactions(), 0)
})

t.test('If another device takes the room that was made, a push is refused; versions alone are gone', async (t) => {
  const app = await openFull(t)
  const { ada } = app
  const phone = await app.user('ada')
  between(app, ada.userId, 2, async () => {
    t.equal((await push(phone, change({ entity_id: 'phone', ...data(262_144) }))).status, 200)
    t.equal((await push(phone, change({ entity_id: 'tablet', ...data(100_000) }))).status, 200)
  })
  t.equal((await push(ada, ...large('new'))).status, 413)
  const { used } = await counters(app, ada)
  t.ok(used <= filled)
  t.equal((await ada.call('GET', '/api/v1/sync/status')).body.total_bookmarks, sizes.records + 2)
})

for (const [what, method, path] of [
  ['sign-out', 'POST', '/api/v1/auth/logout'],
  ['deletion of the account', 'DELETE', '/api/v1/account'],
] as const) {
  t.test(`A ${what} while room is made ends the push, which leaves nothing`, async (t) => {
    const app = await openFull(t)
    const { ada } = app
    const { records } = await countRows(app.context)
    let versions: number | undefined
    between(app, ada.userId, 2, async () => {
      t.equal((await ada.call(method, path)).status, 200)
      versions = (await countRows(app.context)).versions
    })
    t.equal((await push(ada, ...large('new'))).status, 401)
    t.notOk(((await countRows(app.context)).records ?? 0) > (records ?? 0))
    // The rest of an account is erased at the same time.
    if (what !== 'sign-out') return
    t.equal((await countRows(app.context)).versions, versions, 'no more room is made')
    for await (const mended of recount(app.context.database)) t.equal(mended, undefined)
  })
}

t.test('Room is not looked for without end where a counter tells of versions that are not there', async (t) => {
  const app = await buildApp(t, { MAX_USER_BYTES: `${filled}` })
  const ada = await app.user('ada')
  await create(ada, 'a', 1)
  const { db } = app.context.database
  await db.updateTable('users').set({ stored_versions: 10_000 }).where('id', '=', ada.userId).execute()
  t.equal((await create(ada, 'b', 1)).status, 201)
  await counters(app, ada)
})
