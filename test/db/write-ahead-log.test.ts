import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Worker } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { v7 as uuidv7 } from 'uuid'
import { maxLogBytes, openWriteAheadLog } from '../../src/service/db/engine/sqlite/log.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { buildApp } from '../support/app.ts'
import { change, pushMany } from '../support/changes.ts'
import { silent } from '../support/log.ts'
import { until } from '../support/until.ts'
import { addUser, intercept, listUsers, openTestDatabase } from './fixture.ts'

const mebibyte = 1024 * 1024

/** A database, the size of its log, and a function that writes rows of a mebibyte over those that it wrote before. */
async function openWritten(t: Test) {
  const { database, path } = await openTestDatabase(t)
  await database.write((trx) => addUser(trx, 'ada'))
  const write = (rows: number) =>
    database.write(async (trx) => {
      for (let sequence = 1; sequence <= rows; sequence++) {
        const row = { user_id: 'ada', sequence, encrypted_data: `${performance.now()}`.padEnd(mebibyte) }
        await trx.replaceInto('ciphertexts').values(row).execute()
      }
    })
  return { path, logBytes: () => statSync(`${path}-wal`).size, write }
}

t.test('A commit is copied from the log to the file in the background', async (t) => {
  const { path, write } = await openWritten(t)
  const other = new Sqlite(path, { readonly: true })
  t.teardown(() => other.close())
  const state = other.prepare<[], { checkpointed: number }>('pragma wal_checkpoint(noop)')
  for (let count = 0; count < 20; count++) await write(1)
  await until(() => (state.get()?.checkpointed ?? 0) > 0)
  t.pass('no further write was needed')
})

t.test('A create writes at most 9 pages', async (t) => {
  const { user, context, dataDir } = await buildApp(t)
  const users = await Promise.all(Array.from({ length: 10 }, (_, n) => user(`${n}`)))
  const content = { encrypted_data: 'x'.repeat(560), data_hash: 'h'.repeat(43) }
  // So that most pages of an index are full, and hold the rows of few users.
  for (let round = 0; round < 10; round++)
    for (const one of users) {
      const records = Array.from({ length: 30 }, () => change({ entity_id: uuidv7(), ...content }))
      await pushMany(one, records)
    }
  await context.database.emptyLog()
  const creates = 20
  for (const one of Array.from({ length: creates }, () => users).flat())
    await one.call('POST', '/api/v1/bookmarks', { body: content })
  const [pageBytes, headerBytes] = [4096, 24]
  const { size } = statSync(join(dataDir, 'bookmarks.db-wal'))
  const pages = size / (pageBytes + headerBytes) / (creates * users.length)
  t.ok(pages <= 9, `${pages}`)
})

t.test('The log stays bounded after many writes', async (t) => {
  const { logBytes, write } = await openWritten(t)
  for (let count = 0; count < 100; count++) await write(1)
  t.ok(logBytes() < maxLogBytes + 2 * mebibyte, `${logBytes()}`)
})

t.test('Most of a large transaction is in the log before its commit, which blocks the event loop', async (t) => {
  let atCommit = () => 0
  let before = 0
  intercept(t, (sql) => {
    if (sql === 'commit') before = atCommit()
  })
  const { logBytes, write } = await openWritten(t)
  atCommit = logBytes
  await write(24)
  t.ok(before > 12 * mebibyte, `${before}`)
})

/** Counts the threads that are started from now on. */
function countThreads(t: Test): () => number {
  let threads = 0
  const count = () => {
    threads += 1
  }
  process.on('worker', count)
  t.teardown(() => process.off('worker', count))
  return () => threads
}

/** A write-ahead log opened by the test, and a function that makes it longer. */
async function openLog(t: Test) {
  const { path } = await openTestDatabase(t)
  const sqlite = new Sqlite(path)
  t.teardown(() => sqlite.close())
  sqlite.exec('create table filler (content)')
  const log = openWriteAheadLog(sqlite, path)
  const fill = (mebibytes: number) =>
    sqlite.prepare('insert into filler values (zeroblob(?))').run(mebibytes * mebibyte)
  return { log, fill }
}

t.test('A log with little in it is emptied without starting a thread', async (t) => {
  const { database, path } = await openTestDatabase(t)
  await database.write((trx) => addUser(trx, 'ada'))
  const threads = countThreads(t)
  await database.emptyLog()
  t.same({ bytes: statSync(`${path}-wal`).size, threads: threads() }, { bytes: 0, threads: 0 })
})

t.test('A log that is being closed starts no thread, because nothing would end it', async (t) => {
  const { log, fill } = await openLog(t)
  fill(20)
  const threads = countThreads(t)
  const closing = log.close()
  await Promise.all([log.checkpoint(), log.move(), closing])
  await log.checkpoint()
  t.equal(threads(), 0)
})

t.test('A log that is closed twice does not close a file descriptor that was reused meanwhile', async (t) => {
  const { log } = await openLog(t)
  await log.flush()
  await log.close()
  await t.resolves(log.close())
})

t.test('A log can be closed after the thread of its checkpoints has died', async (t) => {
  const { log, fill } = await openLog(t)
  const started = once(process, 'worker') as Promise<[Worker]>
  fill(2)
  await log.move()
  const [thread] = await started
  // A thread that has run out of memory emits an error and exits.
  thread.emit('error', new Error('on purpose'))
  await thread.terminate()
  await t.resolves(log.close())
})

t.test('Commits are durable: the database uses WAL with synchronous=FULL', async (t) => {
  const { database } = await openTestDatabase(t)
  const read = async (pragma: string) => {
    const { rows } = await sql.raw<Record<string, unknown>>(`pragma ${pragma}`).execute(database.db)
    return Object.values(rows[0] ?? {})[0]
  }
  t.equal(await read('journal_mode'), 'wal')
  t.equal(await read('synchronous'), 2, 'FULL')
  t.equal(await read('foreign_keys'), 1)
})

t.test('A database that refuses WAL or synchronous=FULL is not opened', async (t) => {
  const { pragma } = Sqlite.prototype
  t.teardown(() => {
    Sqlite.prototype.pragma = pragma
  })
  for (const refused of ['journal_mode = WAL', 'synchronous = FULL']) {
    Sqlite.prototype.pragma = function (this: Sqlite.Database, source: string, options?: Sqlite.PragmaOptions) {
      return pragma.call(this, source === refused ? source.replace(/ = .*/, ' = OFF') : source, options)
    }
    const path = join(t.testdir(), 'bookmarks.db')
    const message = `DATABASE_URL: ${path} does not support journal_mode=WAL with synchronous=FULL`
    await t.rejects(openDatabase(`sqlite:${path}`, silent), { name: 'ConfigError', message }, refused)
    Sqlite.prototype.pragma = pragma
    await (await openDatabase(`sqlite:${path}`, silent)).close()
    t.pass('the refused attempt left no lock')
  }
})

t.test('Writes wait for a second process that writes, and never fail', async (t) => {
  const { database, path } = await openTestDatabase(t)
  const script = fileURLToPath(new URL('./second-writer.ts', import.meta.url))
  const second = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'], env: {} })
  t.teardown(() => second.kill('SIGKILL'))
  const closed = once(second, 'close')
  await Promise.race([once(second.stdout, 'data'), closed])
  let failed = 0
  for (let count = 0; count < 300; count += 1) {
    const write = database.write(async (trx) => {
      const { length } = await listUsers({ db: trx })
      await addUser(trx, `${length}-${count}`)
    })
    await write.catch(() => {
      failed += 1
    })
  }
  second.kill('SIGTERM')
  const [code] = await closed
  t.equal(code, 0, 'the second process wrote without an error')
  t.equal(failed, 0, 'a write that reads first never gets SQLITE_BUSY')
})

t.test('A closed database leaves no write-ahead log next to its file', async (t) => {
  const { database, path } = await openTestDatabase(t)
  await database.write((trx) => addUser(trx, 'ada'))
  await database.close()
  t.notOk(existsSync(`${path}-wal`))
})
