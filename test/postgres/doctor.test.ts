/** `ebs doctor` on a Postgres that the service could not use, or could not write. */
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { startNats } from '../../scripts/servers/nats.ts'
import { inMemory, startPostgres } from '../../scripts/servers/postgres.ts'
import { examine } from '../../src/service/commands/doctor.ts'
import { openDatabase } from '../../src/service/db/open.ts'
import { buildApp } from '../support/app.ts'
import { databaseUrl } from '../support/database-url.ts'
import { deep } from '../support/depth.ts'
import { silent } from '../support/log.ts'
import { startPgbouncer } from '../support/pgbouncer.ts'
import { findProgram } from '../support/programs.ts'
import { folder } from '../support/service.ts'

const { context, close, dataDir } = await buildApp(t)
const { db } = context.database
t.teardown(close)
const url = await databaseUrl(dataDir)

/** What doctor reports about the database and notifications, without what is fine. */
async function faults(t: Test, env: Record<string, string>) {
  const DATA_DIR = await folder(t)
  const findings = await examine({ DATABASE_URL: url, ...env, DATA_DIR, PORT: '0', SERVE_APP: 'false' })
  return findings
    .filter(({ about, state }) => ['database', 'notifications'].includes(about) && state === 'error')
    .map(({ says }) => says)
}

t.test('A database that takes no writes, and a user who lacks rights, are reported', async (t) => {
  t.same(await faults(t, {}), [])
  const readOnly = `${url}?options=-c%20default_transaction_read_only%3Don`
  t.same(await faults(t, { DATABASE_URL: readOnly }), ['it takes no writes: default_transaction_read_only is on'])

  const user = `ebs_weak_${process.pid}`
  await sql.raw(`create role ${user} login password 'x'`).execute(db)
  t.teardown(() => sql.raw(`drop owned by ${user}; drop role ${user}`).execute(db))
  await sql.raw(`grant select, insert, update, delete on all tables in schema public to ${user}`).execute(db)
  const as = (database: string) => Object.assign(new URL(database), { username: user, password: 'x' }).href
  t.same(await faults(t, { DATABASE_URL: as(url) }), [])
  await sql.raw(`revoke insert on records from ${user}; revoke delete on exports from ${user}`).execute(db)
  t.match(await faults(t, { DATABASE_URL: as(url) }), [/^its user lacks rights: .+ on (records|exports), and 1 more$/])
  const empty = as(await databaseUrl(await folder(t)))
  t.same(await faults(t, { DATABASE_URL: empty }), ['its user may not create tables'])
  await t.rejects(openDatabase(empty, silent), /permission denied/)
})

deep(t, 'A standby is reported', async (t) => {
  const primary = await startPostgres(await inMemory())
  t.teardown(primary.close)
  await (await openDatabase(`${primary.url}/postgres`, silent)).close()
  const standby = await primary.startStandby()
  t.teardown(standby.close)
  const DATABASE_URL = `${standby.url}/postgres`
  t.same(await faults(t, { DATABASE_URL }), ['it takes no writes: the server is a standby'])
})

t.test('PULSE_DATABASE_URL and PULSE_URL are tried as the service uses them', async (t) => {
  const [other, nowhere] = [await databaseUrl(await folder(t)), Object.assign(new URL(url), { pathname: '/nowhere' })]
  const unlike = 'PULSE_DATABASE_URL: this is another database than that of DATABASE_URL'
  t.same(await faults(t, { PULSE_DATABASE_URL: other }), [unlike])
  t.match(await faults(t, { PULSE_DATABASE_URL: nowhere.href }), [/^PULSE_DATABASE_URL: .*"nowhere" does not exist/])
  t.same(await faults(t, { PULSE_DATABASE_URL: `${url}?application_name=direct` }), [])
  t.match(await faults(t, { PULSE_URL: 'nats://127.0.0.1:9' }), [
    /^PULSE_URL: those between instances do not arrive \(/,
  ])
  const program = await findProgram('nats-server')
  if (program !== undefined) {
    const nats = await startNats(program)
    t.teardown(nats.stop)
    t.same(await faults(t, { PULSE_URL: nats.url }), [])
    t.match(await faults(t, { PULSE_URL: nats.url.replace('ebs:', 'foe:') }), [/^PULSE_URL: .*[Aa]uthorization/])
  }
  const pooler = await startPgbouncer(t, url)
  if (pooler === undefined) return
  t.same(await faults(t, { DATABASE_URL: pooler, PULSE_DATABASE_URL: url }), [])
  t.match(await faults(t, { DATABASE_URL: pooler, PULSE_DATABASE_URL: `${pooler}?application_name=x` }), [
    /^PULSE_DATABASE_URL: .*unsupported startup parameter/,
  ])
})
