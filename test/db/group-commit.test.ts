import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { holdClock } from '../support/intervals.ts'
import { addUser, intercept, listUsers, openTestDatabase } from './fixture.ts'

/** A transaction that has taken long accepts no more writes. Here time passes only when a test calls `pass`. */
const pass = holdClock(t)

/** A database, and the transaction statements that its connection runs. */
async function openWatched(t: Test) {
  const steps: string[] = []
  intercept(t, (sql) => steps.push(sql))
  const opened = await openTestDatabase(t)
  steps.length = 0
  return { ...opened, steps }
}

t.test('A write resolves only after its commit', async (t) => {
  const { database, path, steps } = await openWatched(t)
  const other = new Sqlite(path, { readonly: true })
  t.teardown(() => other.close())
  const id = await database.write((trx) => addUser(trx, 'ada'))
  t.same(steps, ['begin immediate', 'commit'])
  t.same(other.prepare('select id from users').all(), [{ id }], 'other connections see it')
})

t.test('A failing write undoes only itself', async (t) => {
  const { database, steps } = await openWatched(t)
  const failing = (id: string) =>
    database.write(async (trx) => {
      await addUser(trx, id)
      throw new Error('on purpose')
    })
  const results = await Promise.allSettled([
    failing('first'),
    database.write((trx) => addUser(trx, 'a')),
    failing('b'),
    database.write(async (trx) => {
      await addUser(trx, 'c')
      await trx.insertInto('keyrings').values({ user_id: 'nobody', keyring: '', revision: 1 }).execute()
    }),
    database.write((trx) => addUser(trx, 'd')),
  ])
  t.equal(steps.filter((sql) => sql === 'commit').length, 1, 'the writes shared a transaction')
  t.match(results, [
    { status: 'rejected', reason: { message: 'on purpose' } },
    { status: 'fulfilled', value: 'a' },
    { status: 'rejected', reason: { message: 'on purpose' } },
    { status: 'rejected', reason: { code: 'SQLITE_CONSTRAINT_FOREIGNKEY' } },
    { status: 'fulfilled', value: 'd' },
  ])
  t.same(await listUsers(database), ['a', 'd'])
})

t.test('A commit that fails fails every write in it', async (t) => {
  let broken = false
  intercept(t, (sql) => {
    if (sql === 'commit' && broken) throw new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC')
  })
  const { database } = await openTestDatabase(t)
  broken = true
  const results = await Promise.allSettled(['a', 'b'].map((id) => database.write((trx) => addUser(trx, id))))
  broken = false
  for (const result of results) {
    t.match(result, { status: 'rejected', reason: { code: 'SQLITE_IOERR_FSYNC' } })
    t.ok(result.status === 'rejected' && database.isUnavailable(result.reason), 'the error counts as an outage')
  }
  t.same(await listUsers(database), [], 'no write is stored')
  await database.write((trx) => addUser(trx, 'c'))
  t.same(await listUsers(database), ['c'], 'the next write succeeds')
})

t.test('A full disk: every write that succeeds is stored', async (t) => {
  const { database } = await openTestDatabase(t)
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(database.db)
  await sql.raw(`pragma max_page_count = ${(rows[0]?.page_count ?? 0) + 8}`).execute(database.db)
  const results = await Promise.allSettled([
    database.write((trx) => addUser(trx, 'a')),
    database.write((trx) => addUser(trx, 'b'.repeat(1_000_000))),
    database.write((trx) => addUser(trx, 'c')),
  ])
  const written = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  t.same(await listUsers(database), written)
  for (const result of results) {
    if (result.status === 'rejected')
      t.ok(database.isUnavailable(result.reason), `the error says that the database is unavailable: ${result.reason}`)
  }
  t.equal(results[1]?.status, 'rejected')
  await database.write((trx) => addUser(trx, 'd'))
  t.ok((await listUsers(database)).includes('d'), 'a write that fits succeeds again')
})

t.test('When SQLite itself rolls a shared transaction back, all of its writes fail and none is stored', async (t) => {
  const { database } = await openTestDatabase(t)
  const results = await Promise.allSettled([
    database.write((trx) => addUser(trx, 'a')),
    database.write(async (trx) => {
      await sql`rollback`.execute(trx)
      throw new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR_WRITE')
    }),
    database.write((trx) => addUser(trx, 'c')),
  ])
  for (const result of results) t.match(result, { status: 'rejected', reason: { code: 'SQLITE_IOERR_WRITE' } })
  t.same(await listUsers(database), [], 'no write is stored')
  await database.write((trx) => addUser(trx, 'd'))
  t.same(await listUsers(database), ['d'], 'the next write succeeds')
})

t.test("Another owner's write waits for one long write only, and reads run between long writes", async (t) => {
  const { database, steps } = await openWatched(t)
  const events: string[] = []
  const reads: Promise<unknown>[] = []
  const long = async (name: string) => {
    events.push(name)
    reads.push(listUsers(database).then(() => events.push(`read during ${name}`)))
    pass(0.06)
  }
  const writes = ['a1', 'a2', 'a3'].map((name) => database.write(() => long(name), 'ada'))
  await Promise.all([...writes, database.write(async () => void events.push('b'), 'bob')])
  await Promise.all(reads)
  t.equal(steps.filter((sql) => sql === 'commit').length, 3, 'no write joined a transaction after a long write')
  t.same(events, ['a1', 'read during a1', 'b', 'a2', 'read during a2', 'a3', 'read during a3'])
})
