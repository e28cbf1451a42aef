/** With a clock that is over a week off at the start, the service erases nothing by age but pairings for a day. */
import t from 'tap'
import { examine } from '../../src/service/commands/doctor.ts'
import { acceptClock } from '../../src/service/operating/clock.ts'
import { openAdmin } from '../support/admin.ts'
import { type BuildOptions, buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { runCommand } from '../support/command.ts'
import { databaseUrl } from '../support/database-url.ts'
import { createdExport } from '../support/exports.ts'
import { replaceKeyring } from '../support/keyrings.ts'
import { folder } from '../support/service.ts'

const dayMs = 86_400_000
const content = (text: string) => ({ encrypted_data: text, data_hash: `hash-of-${text}` })
const errorsOf = ({ log }: TestApp) =>
  log.map((line) => JSON.parse(line)).filter(({ level, jumpMs }) => level === 50 && jumpMs !== undefined)

/** A user with an old version, a deleted bookmark, an export, a device and a replaced keyring. */
async function fill(app: TestApp): Promise<TestUser> {
  const ada = await app.user('ada')
  const changes = ['x', 'y'].map((entity_id) => change({ entity_id }))
  await push(ada, ...changes)
  await ada.call('PUT', '/api/v1/bookmarks/x', { body: content('edited') })
  await ada.call('DELETE', '/api/v1/bookmarks/y')
  await pullAll(ada, { headers: { 'x-device-id': 'laptop' } })
  await createdExport(ada)
  await replaceKeyring(ada, 2)
  return ada
}

async function left(ada: TestUser) {
  const get = async (path: string) => (await ada.call('GET', path)).body
  return {
    versions: (await get('/api/v1/bookmarks/x/versions')).versions?.length,
    trash: (await get('/api/v1/trash')).bookmarks?.length,
    exports: (await get('/api/v1/exports')).exports?.length,
    devices: (await get('/api/v1/devices')).devices?.length,
    sessions: (await get('/api/v1/account/sessions')).sessions?.length,
    keyrings: (await get('/api/v1/account/keyring/versions')).versions?.length,
  }
}

t.test('A start with the clock 40 days ahead or behind erases nothing and reports it', async (t) => {
  const dataDir = await folder(t)
  const start = async (options: BuildOptions = {}) => buildApp(t, {}, { dataDir, ...options })
  const first = await start()
  const ada = await fill(first)
  const before = await left(ada)
  t.match(before, { versions: 1, trash: 1, exports: 1, sessions: 1, keyrings: 1 })
  t.same(errorsOf(first), [])
  await first.close()

  for (const days of [40, 40, -40, 41]) {
    const now = Date.now() + days * dayMs
    const wrong = await start({ now })
    const [error, ...others] = errorsOf(wrong)
    t.match(
      error.msg,
      new RegExp(`^the clock says ${new Date(now).toISOString()}, 4[01].0 days ${days > 0 ? 'after' : 'before'} this`),
    )
    t.match(error.msg, /npm run admin -- accept-clock/)
    t.same(others, [])
    const { scrape, admin } = openAdmin(t, wrong)
    const metrics = await scrape()
    t.ok(Math.abs(Number(metrics.value('ebs_clock_jump_seconds')) - days * 86_400) < 600)
    t.notOk(
      Object.values(metrics.byLabel('ebs_swept_total')).some((swept) => swept > 0),
      'nothing is swept',
    )
    const ready = await admin.inject('/readyz')
    t.ok(ready.statusCode === 200 && ready.json().down.includes('clock'), 'ready: another instance would do no better')
    t.equal((await wrong.call('GET', '/api/v1/health')).body.status, 'degraded')
    await wrong.close()
  }

  const last = await start()
  t.same(errorsOf(last), [])
  t.same(await left(last.as(ada)), before, 'nothing was erased, and the session is valid')
})

t.test('While the running service does not trust the clock, doctor reports that', async (t) => {
  const dataDir = await folder(t)
  await (await buildApp(t, {}, { dataDir, now: Date.now() - 40 * dayMs })).close()
  const app = await buildApp(t, {}, { dataDir })
  t.match(errorsOf(app), [{ msg: /40\.0 days after/ }])
  const env = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir), PORT: '0', SERVE_APP: 'false' }
  const doctor = async () => (await examine(env)).filter(({ about }) => about === 'clock')
  const says = /40\.0 days after this database was last in use .*: nothing is erased by age until .* accept-clock/
  t.match(await doctor(), [{ state: 'warning', says }])
  await acceptClock(app.context.database)
  t.match(await doctor(), [{ state: 'ok' }])
})

t.test('After 31 days off, nothing is erased until a day has passed or an operator accepts the clock', async (t) => {
  const dataDir = await folder(t)
  const first = await buildApp(t, {}, { dataDir })
  const began = Date.now()
  await first.user('ada')
  await first.close()
  const later = began + 31 * dayMs
  const app = await buildApp(t, {}, { dataDir, now: later })
  const { clockGuard, database } = app.context
  t.notOk(await clockGuard.isBelieved())
  const runFor = async (guard: typeof clockGuard, of: TestApp, from: number, hours: number) => {
    for (let minutes = 0; minutes <= hours * 60; minutes += 5) {
      of.setClock(from + minutes * 60_000)
      if (await guard.isBelieved()) return minutes / 60
    }
    return undefined
  }
  t.equal(await runFor(clockGuard, app, later, 20), undefined)
  t.equal(
    await database.db
      .selectFrom('tokens')
      .select('hash')
      .execute()
      .then((rows) => rows.length),
    2,
  )
  await app.close()
  const again = await buildApp(t, {}, { dataDir, now: later + 3 * dayMs })
  t.match(errorsOf(again), [{ level: 50 }], 'each start logs it')
  const hours = await runFor(again.context.clockGuard, again, later + 3 * dayMs, 5)
  t.ok(hours !== undefined && hours > 3.9 && hours < 4.1, `${hours} h: only the time that the service runs counts`)
  t.match(again.log.join(''), 'the clock is believed again')
  await again.close()
  const swept = await buildApp(t, {}, { dataDir, now: later + 4 * dayMs })
  t.same(await swept.context.database.db.selectFrom('tokens').select('hash').execute(), [], 'now it sweeps')
  await swept.close()

  // The clock goes back to the true time, which is another jump.
  const back = await buildApp(t, {}, { dataDir })
  t.match(errorsOf(back), [{ level: 50 }])
  const env = { DATA_DIR: dataDir, DATABASE_URL: await databaseUrl(dataDir) }
  const later40 = 'data:text/javascript,const%20now=Date.now;Date.now=()=>now()%2B3456e6'
  const wrong = await runCommand(t, 'admin', ['accept-clock'], { ...env, NODE_OPTIONS: `--import=${later40}` })
  t.match(wrong, { code: 1, stdout: '', stderr: /clock is 34\d+ s ahead of the database's: nothing was accepted/ })
  t.notOk(await back.context.clockGuard.isBelieved())
  const { code, stdout, stderr } = await runCommand(t, 'admin', ['accept-clock'], env)
  t.same([code, stderr], [0, ''])
  t.match(
    stdout,
    /^the clock says (20\S+), 3[45]\.\d days before this database was last in use \((20\S+)\); it is accepted from now on\n/,
  )
  t.match(stdout, /\n {2}versions, deleted bookmarks [\w ]+ before 20\S+Z \(30 days\)\n/)
  t.match(stdout, /\n {2}devices [\w ]+ before 20\S+Z \(400 days\)\n/)
  t.ok(await back.context.clockGuard.isBelieved())
})

t.test('A jump of half a short retention is too far; a database without a heartbeat believes any clock', async (t) => {
  const app = await buildApp(t, { KEEP_VERSIONS_DAYS: '2' })
  const { clockGuard, database } = app.context
  const now = Date.now()
  const at = (days: number) => {
    app.setClock(now + days * dayMs)
    return clockGuard.isBelieved()
  }
  t.same([await at(0.9), await at(1.8), await at(2.9), await at(1.8)], [true, true, false, true])
  await database.db.updateTable('heartbeat').set({ believed_at: null, judged_at: null, doubted_ms: null }).execute()
  t.ok(await at(40))
})
