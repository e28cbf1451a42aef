import { Readable } from 'node:stream'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { openDevice } from '../realtime/device.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { change } from '../support/changes.ts'
import { isPostgres } from '../support/database-url.ts'
import { createdExport } from '../support/exports.ts'
import { until } from '../support/until.ts'
import { startLink } from './link.ts'

/** Instances of the service on one database. */
async function instances(t: Test, count: number): Promise<[TestApp, ...TestApp[]]> {
  const first = await buildApp(t)
  const others: TestApp[] = []
  while (others.length < count - 1) others.push(await buildApp(t, {}, { dataDir: first.dataDir }))
  return [first, ...others]
}

/** A connection to the database that breaks once, when the text passes through it. */
async function breakableLink(t: Test, database: URL) {
  const link: { url: string; breakAt: string | undefined } = { url: '', breakAt: undefined }
  link.url = await startLink(t, database, (data) => {
    if (link.breakAt === undefined || !data.includes(link.breakAt)) return data
    link.breakAt = undefined
    return undefined
  })
  return link
}

/** The next transaction of the instance does its work, and is committed when told to. */
function holdCommits({ context: { database } }: TestApp) {
  const { write } = database
  const [begun, committed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  database.write = (work) =>
    write(async (trx) => {
      const result = await work(trx)
      begun.resolve()
      await committed.promise
      return result
    })
  return { begun: begun.promise, commit: committed.resolve }
}

/** Whether a transaction waits for a lock that another one holds. */
async function isWaiting({ context: { database } }: TestApp): Promise<boolean> {
  const { rows } = await sql`
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
  `.execute(database.db)
  return rows.length > 0
}

if (!isPostgres) t.comment('instances share a Postgres: `npm test` runs this file there')
else {
  t.test('A change made on one instance reaches the sockets of the others once, in stamp order', async (t) => {
    const [one, ...others] = await instances(t, 3)
    const ada = await one.user('ada')
    const devices = await Promise.all(
      others.map(async (other, index) => openDevice(t, await other.listen(), ada, { deviceId: `device-${index}` })),
    )
    for (const name of ['x', 'y', 'z']) {
      await ada.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: name })] } })
    }
    for (const device of devices) t.same(await device.takeEntities('z'), ['x', 'y', 'z'])
    const metrics = await Promise.all([one, ...others].map((app) => openAdmin(t, app).scrape()))
    const [mine, ...theirs] = metrics.map((exposed) => exposed.byLabel('ebs_pulses_total'))
    t.same(mine, { sent: 3, received: 0 })
    t.ok(
      theirs.every(({ sent, received = 0 }) => sent === 0 && received >= 1 && received <= 3),
      'of one user, several may arrive as one',
    )
  })

  t.test('Signed out on one instance: refused on the next, and the socket on a third is closed', async (t) => {
    const [one, two, three] = await instances(t, 3)
    const ada = await one.user('ada')
    const device = await openDevice(t, await (three as TestApp).listen(), ada)
    await ada.call('POST', '/api/v1/auth/logout')
    const next = await (two as TestApp).call('GET', '/api/v1/bookmarks', { headers: { cookie: ada.cookie } })
    t.same([next.status, next.body], [401, { error: 'Invalid or expired session' }])
    t.equal(await device.closeCode, 4401)
  })

  t.test('Signed out on one instance: a download from another one is cut off', async (t) => {
    const [one, two] = (await instances(t, 2)) as [TestApp, TestApp]
    const ada = await one.user('ada')
    const { id, size_bytes } = await createdExport(ada)
    const body = new Readable({ read() {} })
    body.push('begin')
    two.context.objects.get = async () => ({ size: size_bytes ?? 0, body })
    const { cookie } = ada
    const response = await fetch(`${await two.listen()}/api/v1/exports/${id}`, { headers: { cookie } })
    await ada.call('POST', '/api/v1/auth/logout')
    await t.rejects(response.text(), { message: 'terminated' })
    t.ok(body.destroyed)
  })

  for (const [title, first, second, statuses] of [
    ['A write that has begun is waited for by a sign-out on another instance', 'write', 'sign-out', [201, 200]],
    [
      'A write waits for a sign-out that has begun on another instance, and is refused',
      'sign-out',
      'write',
      [200, 401],
    ],
  ] as const) {
    t.test(title, async (t) => {
      const [one, two] = (await instances(t, 2)) as [TestApp, TestApp]
      const ada = await one.user('ada')
      const body = { encrypted_data: 'x', data_hash: 'h' }
      const requests = {
        write: ({ call }: Pick<TestApp, 'call'>) => call('POST', '/api/v1/bookmarks', { headers: cookie, body }),
        'sign-out': ({ call }: Pick<TestApp, 'call'>) => call('POST', '/api/v1/auth/logout', { headers: cookie }),
      }
      const cookie = { cookie: ada.cookie }
      const { begun, commit } = holdCommits(one)
      const answers = [requests[first](one)]
      await begun
      answers.push(requests[second](two))
      await until(() => isWaiting(two))
      commit()
      t.same(
        (await Promise.all(answers)).map(({ status }) => status),
        statuses,
      )
    })
  }

  t.test('A pulse that breaks off with its connection is sent again over the next one', async (t) => {
    const [one] = await instances(t, 1)
    const link = await breakableLink(t, new URL(one.context.config.databaseUrl))
    const two = await buildApp(t, { DATABASE_URL: link.url }, { dataDir: one.dataDir })
    const ada = await two.user('ada')
    const device = await openDevice(t, await one.listen(), ada)
    link.breakAt = 'pg_notify'
    await ada.call('POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: 'x' })] } })
    const began = performance.now()
    t.same(await device.takeEntities('x'), ['x'])
    t.ok(performance.now() - began < 20_000, 'long before the sweep')
    t.equal(link.breakAt, undefined, 'it did break')
  })

  t.test(
    'An instance that hears no pulses, as over a pooler, is not ready, and its log says what to set',
    async (t) => {
      const [one] = await instances(t, 1)
      const { databaseUrl } = one.context.config
      let hears = false
      const link = await startLink(t, new URL(databaseUrl), (data) =>
        hears ? data : Buffer.from(data.toString('latin1').replace('LISTEN ebs_pulse', 'LISTEN ebs_other'), 'latin1'),
      )
      const two = await buildApp(t, { PULSE_DATABASE_URL: link }, { dataDir: one.dataDir })
      const readiness = async () => (await two.app.inject('/readyz')).statusCode
      await until(async () => (await readiness()) === 503)
      t.ok(two.log.some((line) => line.includes('PULSE_DATABASE_URL must name a direct connection')))
      t.equal((await two.call('GET', '/api/v1/health')).body.status, 'unhealthy')
      t.not(one.context.health.status(), 'unhealthy', 'the other one hears')
      hears = true
      await until(async () => (await readiness()) === 200)
      t.ok(two.log.some((line) => line.includes('pulses arrive again')))
    },
  )

  t.test('Five instances start at once on an empty database', async (t) => {
    const { dataDir, close } = await buildApp(t)
    await close()
    const empty = `${dataDir}/empty`
    const apps = await Promise.all(Array.from({ length: 5 }, () => buildApp(t, {}, { dataDir: empty })))
    t.equal(apps.length, 5, 'one of them migrates, the others wait for it')
    const ada = await (apps[0] as TestApp).user('ada')
    t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 200)
  })

  t.test('Connections that break are replaced, and responses meanwhile are 503', async (t) => {
    const app = await buildApp(t)
    const ada = await app.user('ada')
    const { db } = app.context.database
    for (let round = 0; round < 5; round += 1) {
      const others = sql`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`
      const [, ...answers] = await Promise.all([
        others.execute(db).catch(() => {}),
        ...Array.from({ length: 20 }, () => ada.call('GET', '/api/v1/bookmarks')),
      ])
      for (const { status } of answers) t.ok([200, 503].includes(status), `${status}`)
    }
    t.equal((await ada.call('GET', '/api/v1/bookmarks')).status, 200)
  })
}
