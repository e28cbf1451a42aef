import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import t from 'tap'
import { buildApp } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { databaseUrl } from '../support/database-url.ts'
import { until } from '../support/until.ts'

t.test('With a damaged page of one user all instances stay ready, and `check` names the user', async (t) => {
  const app = await buildApp(t)
  const another = await buildApp(t, {}, { dataDir: app.dataDir })
  const { db } = app.context.database
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  for (const user of [ada, bob]) {
    // Random text does not compress, so the rows of each user fill pages of their own.
    const random = () => Array.from({ length: 4000 }, () => Math.random().toString(36)[2] ?? 'x').join('')
    const changes = Array.from({ length: 20 }, (_, n) => change({ entity_id: `${n}`, encrypted_data: random() }))
    t.equal((await push(user, ...changes)).status, 200)
  }
  // Moving a table copies its files, so the server has no page of the copies in memory.
  const elsewhere = sql.ref(`place_${randomUUID()}`)
  await db.connection().execute(async (one) => {
    await sql`set allow_in_place_tablespaces = on`.execute(one)
    await sql`create tablespace ${elsewhere} location ''`.execute(one)
  })
  await sql`alter table ciphertexts set tablespace ${elsewhere}`.execute(db)
  const { rows } = await sql<{ path: string }>`
    select current_setting('data_directory') || '/' || pg_relation_filepath(reltoastrelid) as path
    from pg_class where oid = 'ciphertexts'::regclass`.execute(db)
  const spoil = `dd if=/dev/urandom of=${rows[0]?.path} bs=1 count=512 seek=4096 conv=notrunc status=none`
  await sql.raw(`copy (select 1) to program '${spoil}'`).execute(db)

  t.equal((await ada.call('POST', '/api/v1/sync/pull')).status, 503)
  t.equal((await another.as(ada).call('GET', '/api/v1/bookmarks')).status, 503)
  t.equal((await bob.call('POST', '/api/v1/sync/pull')).status, 200)
  for (const { app: instance } of [app, another]) {
    await until(async () => (await instance.inject('/readyz')).json().down !== undefined)
    const { statusCode, body } = await instance.inject('/readyz')
    t.same([statusCode, JSON.parse(body)], [200, { status: 'degraded', down: ['provider'], faults: ['damaged'] }])
  }
  const env = { DATA_DIR: app.dataDir, DATABASE_URL: await databaseUrl(app.dataDir) }
  const { code, stdout } = await runCommand(t, 'admin', ['check'], env)
  t.equal(code, 1)
  t.match(stdout, `${ada.userId}  "ada@example.org"  damaged: ciphertexts (XX00`)
  t.notMatch(stdout, bob.userId)
  t.match(stdout, /checked 2 users, 1 with damaged rows\n$/)
})
