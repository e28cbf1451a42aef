import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import { sql } from 'kysely'
import t from 'tap'
import { openDatabase } from '../../src/service/db/open.ts'
import { silent } from '../support/log.ts'
import { addUser, listUsers, openTestDatabase } from './fixture.ts'

t.test('Durable: WAL with synchronous=FULL', async (t) => {
  const { database } = await openTestDatabase(t)
  const read = async (pragma: string) => {
    const { rows } = await sql.raw<Record<string, unknown>>(`pragma ${pragma}`).execute(database.db)
    return Object.values(rows[0] ?? {})[0]
  }
  t.equal(await read('journal_mode'), 'wal')
  t.equal(await read('synchronous'), 2, 'FULL')
  t.equal(await read('foreign_keys'), 1)
})

t.test('A database that refuses either is not opened', async (t) => {
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
    t.pass('and it holds no lock')
  }
})

t.test('A second connection that writes meanwhile only makes it wait', async (t) => {
  const { database, path } = await openTestDatabase(t)
  const script = fileURLToPath(new URL('./second-writer.ts', import.meta.url))
  const second = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'], env: {} })
  t.teardown(() => second.kill('SIGKILL'))
  await once(second.stdout, 'data')
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
  const [code] = await once(second, 'close')
  t.equal(code, 0, 'the second wrote all the time')
  t.equal(failed, 0, 'no SQLITE_BUSY for a write that reads first')
})

t.test('Closed, it leaves no log beside its file', async (t) => {
  const { database, path } = await openTestDatabase(t)
  await database.write((trx) => addUser(trx, 'ada'))
  await database.close()
  t.notOk(existsSync(`${path}-wal`))
})
