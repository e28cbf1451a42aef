/** Writes that must erase more of the user's oldest versions than one transaction erases. */
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { fillAccount, type Sizes, usedBytes as usedBytesOf } from '../../bench/hostile/accounts.ts'
import { quotas } from '../../generated/limits.ts'
import { findCounters } from '../../src/service/db/tables/users.ts'
import { erasableBytes, usedBytes } from '../../src/service/sync/usage.ts'
import { recount } from '../../src/service/upkeep/recount.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { countRows } from '../support/database.ts'
import { pick } from '../support/pick.ts'

const sizes = { records: 60, versions: 49, trash: 0, devices: 1 } satisfies Sizes
const filled = usedBytesOf(sizes)
const rowOfOne = quotas.rowBytes + 1
/** To meet this limit, more than 2,000 versions must be erased, the most in one transaction. */
const lowered = Math.floor(filled / 8)

const data = (bytes: number) => ({ encrypted_data: 'x'.repeat(bytes), data_hash: 'hash' })
const create = (user: TestUser, id: string, bytes: number) =>
  user.call('POST', '/api/v1/bookmarks', { body: { id, ...data(bytes) } })
/** A push that is larger than the versions that one transaction erases. */
const large = (name: string) =>
  Array.from({ length: 5 }, (_, index) => change({ entity_id: `${name}${index}`, ...data(250_000) }))

/** A user with the records and versions of `sizes`, in a service with this limit. */
async function openFull(t: Test, maxBytes = filled) {
  const app = await buildApp(t, { MAX_USER_BYTES: `${maxBytes}` })
  const ada = await app.user('ada')
  const run = async (text: string) => void (await sql.raw(text).execute(app.context.database.db))
  await fillAccount({ run, close: async () => {} }, ada, sizes)
  return { ...app, ada }
}

/** Runs the work before the user's next transaction, after `before` transactions. */
function between({ context: { database } }: TestApp, owner: string, before: number, work: () => Promise<void>) {
  const { write } = database
  let count = 0
  database.write = async (inside, ofOwner, isLarge) => {
    if (ofOwner === owner && count++ === before) await work()
    return write(inside, ofOwner, isLarge)
  }
  return () => count
}

async function counters({ context: { database } }: TestApp, { userId }: TestUser) {
  for await (const corrected of recount(database))
    if (corrected) throw new Error(`miscounted: ${JSON.stringify(corrected)}`)
  const user = await findCounters(database.db, userId)
  return { used: usedBytes(user), erasable: erasableBytes(user), versions: user.stored_versions }
}

t.test('A push that needs 2,400 versions erased erases 2,000 at once, and the next write the others', async (t) => {
  const app = await openFull(t)
  const { ada } = app
  t.equal((await counters(app, ada)).used, filled)
  const changes = large('new')
  const { status, body } = await push(ada, ...changes)
  t.match([status, body], [200, { accepted: changes.length, conflicts: [] }])
  t.equal((await counters(app, ada)).versions, sizes.records * sizes.versions - 2000)
  t.equal((await create(ada, 'next', 1)).status, 201)
  const { used, versions } = await counters(app, ada)
  const needed = Math.ceil((changes.length * (250_000 + quotas.rowBytes) + rowOfOne) / rowOfOne)
  t.equal(versions, sizes.records * sizes.versions - needed, 'no more versions than needed were erased')
  t.ok(used <= filled)
  const { body: left } = await ada.call('GET', '/api/v1/bookmarks/b0/versions')
  const ids = pick(left.versions, 'version_id')
  const newest = ids.map((_, index) => `e${sizes.versions - 1 - index}-0`)
  t.same(ids, newest, 'the oldest went')
})

t.test('Far over a lowered limit, a write makes room in several transactions with other writes between', async (t) => {
  const app = await openFull(t, lowered)
  const { ada } = app
  const bob = await app.user('bob')
  let isAnswered = false
  const transactions = between(app, ada.userId, 1, async () => {
    t.equal((await create(bob, 'of bob', 1)).status, 201)
    t.notOk(isAnswered, "another user's write is answered first")
  })
  t.equal((await create(ada, 'new', 1)).status, 201)
  isAnswered = true
  t.equal(transactions(), 3, 'two made room')
  const { used } = await counters(app, ada)
  t.ok(used <= lowered && used > lowered - 2 * rowOfOne, `${used} of ${lowered}`)
})

t.test('If another device uses the freed room, the write is refused, and only versions are lost', async (t) => {
  const app = await openFull(t, lowered)
  const { ada } = app
  const phone = await app.user('ada')
  between(app, ada.userId, 1, async () => {
    t.equal((await push(phone, change({ entity_id: 'phone', ...data(100_000) }))).status, 200)
  })
  t.equal((await create(ada, 'new', 100_000)).status, 413)
  t.ok((await counters(app, ada)).used <= lowered)
  t.equal((await ada.call('GET', '/api/v1/sync/status')).body.total_bookmarks, sizes.records + 1)
})

for (const [what, method, path] of [
  ['sign-out', 'POST', '/api/v1/auth/logout'],
  ['deletion of the account', 'DELETE', '/api/v1/account'],
] as const) {
  t.test(`A ${what} while room is made ends the write, which stores nothing`, async (t) => {
    const app = await openFull(t, lowered)
    const { ada } = app
    const { records } = await countRows(app.context)
    let versions: number | undefined
    between(app, ada.userId, 1, async () => {
      t.equal((await ada.call(method, path)).status, 200)
      versions = (await countRows(app.context)).versions
    })
    t.equal((await create(ada, 'new', 1)).status, 401)
    t.notOk(((await countRows(app.context)).records ?? 0) > (records ?? 0))
    // The deletion of an account goes on erasing its versions.
    if (what !== 'sign-out') return
    t.equal((await countRows(app.context)).versions, versions, 'no more room is made')
    for await (const corrected of recount(app.context.database)) t.equal(corrected, undefined)
  })
}

t.test('A wrong counter of versions does not cause an endless search for room', async (t) => {
  const app = await buildApp(t, { MAX_USER_BYTES: `${filled}` })
  const ada = await app.user('ada')
  await create(ada, 'a', 1)
  const { db } = app.context.database
  await db.updateTable('users').set({ stored_versions: 10_000 }).where('id', '=', ada.userId).execute()
  t.equal((await create(ada, 'b', 1)).status, 201)
  await counters(app, ada)
})
