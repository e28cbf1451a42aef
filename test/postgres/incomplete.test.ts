import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { examineDatabase } from '../../src/service/commands/doctor-data.ts'
import { readConfig } from '../../src/service/config/config.ts'
import { openPostgres } from '../../src/service/db/engine/postgres/open.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { missingParts } from '../../src/service/db/whole.ts'
import { buildApp } from '../support/app.ts'
import { runCommand } from '../support/command.ts'
import { createDatabase, databaseUrl } from '../support/database-url.ts'
import { silent } from '../support/log.ts'
import { folder } from '../support/service.ts'

const { user, close, dataDir } = await buildApp(t)
await user('ada')
await close()

/** The URL of a copy of the database that lacks something. */
async function without(t: Test, statement: string): Promise<string> {
  const place = await folder(t)
  await createDatabase(place, dataDir)
  const url = await databaseUrl(place)
  const { db, close } = openPostgres(url, silent)
  await sql.raw(statement).execute(db)
  await close()
  return url
}

const damages = {
  'drop table versions': 'versions: column user_id, and 25 more',
  'alter table records drop column data_hash': 'records: column data_hash',
  'drop index versions_open': 'versions: index versions_open',
  'alter table records drop constraint records_pkey': 'records: primary key',
  'alter table deletions drop constraint deletions_user_id_fkey': 'deletions: reference to users',
}

t.test('A start on Postgres fails if a table, column, index or key is missing', async (t) => {
  for (const [statement, missing] of Object.entries(damages))
    await t.rejects(openDatabase(await without(t, statement), silent), {
      name: 'ConfigError',
      message: `DATABASE_URL: the database is incomplete (${missing}), as after a pg_restore that was interrupted: load the dump into an empty database again`,
    })
})

t.test('After an interrupted pg_restore, restored and doctor report what is missing', async (t) => {
  const DATABASE_URL = await without(t, 'drop index records_newest; drop index versions_open')
  const { code, stdout, stderr } = await runCommand(t, 'restored', [], { DATABASE_URL, DATA_DIR: dataDir })
  t.match([code, stdout, stderr], [1, '', /^DATABASE_URL: the database is incomplete \(records: index .+ 1 more\)/])
  const [finding] = await examineDatabase(readConfig({ DATABASE_URL, DATA_DIR: dataDir }))
  t.match(finding, { state: 'error', says: 'it is incomplete (records: index records_newest)' })
})

t.test('A database that a newer version has migrated may lack parts', async (t) => {
  const added = `insert into applied_migrations values ('3.1.0', 0, 1)`
  const { db, close } = openPostgres(await without(t, `drop index versions_open; ${added}`), silent)
  t.teardown(close)
  t.same(await missingParts(db), [])
})
