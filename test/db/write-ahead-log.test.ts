import { once } from 'node:events'
import { statSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { maxLogBytes, openWriteAheadLog } from '../../src/service/db/engine/sqlite/log.ts'
import { until } from '../support/until.ts'
import { addUser, intercept, openTestDatabase } from './fixture.ts'

const mebibyte = 1024 * 1024

/** A database, the size of its log, and a write of rows of a mebibyte, which replaces those that it wrote before. */
async function openWritten(t: Test) {
  const { database, path } = await openTestDatabase(t)
  await database.write((trx) => addUser(trx, 'ada'))
  const write = (rows: number) =>
    database.write(async (trx) => {
      for (let stamp = 1; stamp <= rows; stamp++) {
        const row = { user_id: 'ada', stamp, encrypted_data: `${performance.now()}`.padEnd(mebibyte) }
        await trx.replaceInto('ciphertexts').values(row).execute()
      }
    })
  return { path, logBytes: () => statSync(`${path}-wal`).size, write }
}

t.test('What is committed goes to the file while nobody waits for it', async (t) => {
  const { path, write } = await openWritten(t)
  const other = new Sqlite(path, { readonly: true })
  t.teardown(() => other.close())
  const state = other.prepare<[], { checkpointed: number }>('pragma wal_checkpoint(noop)')
  for (let count = 0; count < 20; count++) await write(1)
  await until(() => (state.get()?.checkpointed ?? 0) > 0)
  t.pass('without another write')
})

t.test('However much is written, the log stays bounded', async (t) => {
  const { logBytes, write } = await openWritten(t)
  for (let count = 0; count < 100; count++) await write(1)
  t.ok(logBytes() < maxLogBytes + 2 * mebibyte, `${logBytes()}`)
})

t.test('Most of a large transaction is in the log before its commit, which holds the event loop', async (t) => {
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

t.test('A log with little in it is emptied without starting a thread', async (t) => {
  const { database, path } = await openTestDatabase(t)
  await database.write((trx) => addUser(trx, 'ada'))
  let threads = 0
  const count = () => {
    threads += 1
  }
  process.on('worker', count)
  t.teardown(() => process.off('worker', count))
  await database.emptyLog()
  t.same({ bytes: statSync(`${path}-wal`).size, threads }, { bytes: 0, threads: 0 })
})

t.test('A log that is closed twice closes its own file only', async (t) => {
  const { path } = await openTestDatabase(t)
  const sqlite = new Sqlite(path)
  t.teardown(() => sqlite.close())
  sqlite.exec('create table own (id integer)')
  const log = openWriteAheadLog(sqlite, path)
  await log.flush()
  await log.close()
  await t.resolves(log.close())
})

t.test('A log is closed although the thread of its checkpoints has died', async (t) => {
  const { path } = await openTestDatabase(t)
  const sqlite = new Sqlite(path)
  t.teardown(() => sqlite.close())
  sqlite.exec('create table own (content)')
  const log = openWriteAheadLog(sqlite, path)
  const started = once(process, 'worker') as Promise<[Worker]>
  sqlite.prepare('insert into own values (zeroblob(?))').run(2 * mebibyte)
  await log.move()
  const [thread] = await started
  // As of a thread that has run out of memory.
  thread.emit('error', new Error('on purpose'))
  await thread.terminate()
  await t.resolves(log.close())
})
