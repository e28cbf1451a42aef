import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { holdClock } from '../support/intervals.ts'
import { addUser, intercept, listUsers, openTestDatabase } from './fixture.ts'

/** A transaction that has taken long takes no more: here it does only when time is told to pass. */
const pass = holdClock(t)

/** A database, and the transaction statements of its connection from then on. */
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
  t.same(other.prepare('select id from users').all(), [{ id }], 'and is there for every other connection')
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
  t.equal(steps.filter((sql) => sql === 'commit').length, 1, 'they shared a transaction')
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
    t.ok(result.status === 'rejected' && database.isUnavailable(result.reason), 'the database is to blame')
  }
  t.same(await listUsers(database), [], 'and none is there')
  await database.write((trx) => addUser(trx, 'c'))
  t.same(await listUsers(database), ['c'], 'the next one goes through')
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
      t.ok(database.isUnavailable(result.reason), `reports that it is full: ${result.reason}`)
  }
  t.equal(results[1]?.status, 'rejected')
  await database.write((trx) => addUser(trx, 'd'))
  t.ok((await listUsers(database)).includes('d'), 'what fits is written again')
})

t.test('A fault after which SQLite has undone the whole transaction by itself', async (t) => {
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
  t.same(await listUsers(database), [], 'no write is left half done')
  await database.write((trx) => addUser(trx, 'd'))
  t.same(await listUsers(database), ['d'], 'the next one goes through')
})

t.test('One owner has many long writes: those of another come after one of them, and reads in between', async (t) => {
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
  t.equal(steps.filter((sql) => sql === 'commit').length, 3, 'each long one ended its transaction')
  t.same(events, ['a1', 'read during a1', 'b', 'a2', 'read during a2', 'a3', 'read during a3'])
})
