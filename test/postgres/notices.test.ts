/** Notices between instances, by Postgres LISTEN and NOTIFY and by NATS. */
import { Readable } from 'node:stream'
import { connect } from '@nats-io/transport-node'
import pg from 'pg'
import t, { type Test } from 'tap'
import { type Nats, startNats } from '../../scripts/servers/nats.ts'
import { openDevice } from '../realtime/device.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { createdExport } from '../support/exports.ts'
import { holdIntervals } from '../support/intervals.ts'
import { findProgram } from '../support/programs.ts'
import { until } from '../support/until.ts'
import { startLink } from './link.ts'
import { buildInstances } from './processes.ts'

// With stopped intervals, no periodic sweep makes up for a lost notice.
holdIntervals(t)
// The tests mostly wait, so several run at a time.
t.jobs = 3
const parallel = { buffered: true }
const logout = '/api/v1/auth/logout'

interface Way {
  name: string
  /** The variables that make an instance send notices through this URL. */
  settings(url: string): Record<string, string>
  urlOf(app: TestApp): string
  /** The command that subscribes to changes, and one to replace it that subscribes to nothing. */
  listening: [text: string, instead: string]
  /** Sends these texts as notices, on the channel for all instances or that of this user. */
  say(app: TestApp, userId: string, texts: Buffer[]): Promise<void>
  publishes: string
  remedy: string
}

const listenAndNotify: Way = {
  name: 'LISTEN and NOTIFY',
  settings: (url) => ({ PULSE_DATABASE_URL: url }),
  urlOf: ({ context }) => context.config.databaseUrl,
  listening: ['LISTEN ebs_pulse', 'LISTEN ebs_other'],
  async say({ context }, userId, texts) {
    const client = new pg.Client({ connectionString: context.config.databaseUrl })
    await client.connect()
    // NOTIFY accepts only valid text of less than 8,000 bytes.
    const said = texts.map((text) => text.toString().replaceAll('\0', '').slice(0, 2000))
    for (const text of [...said, `x c${userId}`]) await client.query('SELECT pg_notify($1, $2)', ['ebs_pulse', text])
    await client.end()
  },
  publishes: 'pg_notify',
  remedy: 'PULSE_DATABASE_URL must name a direct connection',
}

const overNats = ({ url }: Nats): Way => ({
  name: 'NATS',
  settings: (url) => ({ PULSE_URL: url }),
  urlOf: () => url,
  listening: ['SUB ebs.', 'SUB xbs.'],
  async say(_app, userId, texts) {
    const { host, username, password } = new URL(url)
    const account = { user: decodeURIComponent(username), pass: decodeURIComponent(password) }
    const connection = await connect({ servers: host, ...account })
    for (const text of [...texts, Buffer.from('x ')]) connection.publish(`ebs.user.${userId}`, text)
    await connection.close()
  },
  publishes: 'PUB ebs.user',
  remedy: 'must be allowed to publish and to subscribe to ebs.>',
})

const program = await findProgram('nats-server')
testWay(listenAndNotify, {})
if (program !== undefined) {
  const nats = await startNats(program)
  t.teardown(nats.stop)
  testWay(overNats(nats), { PULSE_URL: nats.url })
  testNats(program, nats)
} else t.test('NATS', { skip: 'nats-server is not installed' }, async () => {})

function testWay(way: Way, env: Record<string, string>): void {
  const instances = (t: Test, count: number) => buildInstances(t, count, env)

  t.test(
    `${way.name}: a change on one instance reaches the sockets of the others once, in stamp order`,
    parallel,
    async (t) => {
      const [one, ...others] = await instances(t, 3)
      const ada = await one.user('ada')
      const devices = await Promise.all(
        others.map(async (other, index) => openDevice(t, await other.listen(), ada, { deviceId: `device-${index}` })),
      )
      for (const name of ['x', 'y', 'z']) {
        await push(ada, change({ entity_id: name }))
      }
      for (const device of devices) t.same(await device.takeEntities('z'), ['x', 'y', 'z'])
      const metrics = await Promise.all([one, ...others].map((app) => openAdmin(t, app).scrape()))
      const [mine, ...theirs] = metrics.map((exposed) => exposed.byLabel('ebs_pulses_total'))
      t.same(mine, { sent: 3, received: 0 })
      t.ok(
        theirs.every(({ sent, received = 0 }) => sent === 0 && received >= 1 && received <= 3),
        "several notices of one user's changes may arrive as one",
      )
    },
  )

  t.test(
    `${way.name}: a sign-out on one instance ends the session and the sockets on the others`,
    parallel,
    async (t) => {
      const [one, two, three] = await instances(t, 3)
      const ada = await one.user('ada')
      const device = await openDevice(t, await (three as TestApp).listen(), ada)
      await ada.call('POST', logout)
      const next = await (two as TestApp).call('GET', '/api/v1/bookmarks', { headers: { cookie: ada.cookie } })
      t.same([next.status, next.body], [401, { error: 'Invalid or expired session' }])
      t.equal(await device.closeCode, 4401)
    },
  )

  t.test(`${way.name}: a notice of a job reaches all instances but its sender`, parallel, async (t) => {
    const [one, ...others] = await instances(t, 3)
    await until(() => {
      one.context.notices.publishJob()
      return others.every(({ context }) => context.notices.counts().received > 0)
    })
    t.equal(one.context.notices.counts().received, 0)
  })

  t.test(`${way.name}: an invalid notice does no harm, and the next one arrives`, parallel, async (t) => {
    const [one, two] = (await instances(t, 2)) as [TestApp, TestApp]
    const ada = await one.user('ada')
    const device = await openDevice(t, await two.listen(), ada)
    await until(() => two.context.notices.isUp())
    const long = 'c'.repeat(100_000)
    const odd = [
      '',
      ' ',
      'x',
      'x c',
      'x e',
      `x ${long}`,
      `${' '.repeat(100_000)}`,
      'x {"__proto__":1}',
      'x c\0',
      'x \u{10ffff}',
    ]
    const texts = [...odd.map((text) => Buffer.from(text)), Buffer.from([0xff, 0xfe, 0x20, 0xc3, 0x28])]
    await way.say(two, ada.userId, texts)
    await push(ada, change({ entity_id: 'x' }))
    t.same(await device.takeEntities('x'), ['x'])
    t.ok(two.context.notices.isUp())
    t.notMatch(two.log.join(''), /"level":[56]0/)
  })

  t.test(`${way.name}: a sign-out on one instance cuts off a download from another`, parallel, async (t) => {
    const [one, two] = (await instances(t, 2)) as [TestApp, TestApp]
    const ada = await one.user('ada')
    const { id, size_bytes } = await createdExport(ada)
    const body = new Readable({ read() {} })
    body.push('begin')
    two.context.objects.get = async () => ({ size: size_bytes ?? 0, body })
    const { cookie } = ada
    const response = await fetch(`${await two.listen()}/api/v1/exports/${id}`, { headers: { cookie } })
    await ada.call('POST', logout)
    await t.rejects(response.text(), { message: 'terminated' })
    t.ok(body.destroyed)
  })

  t.test(
    `${way.name}: a notice that was cut off with its connection is sent again over the next one`,
    parallel,
    async (t) => {
      const [one] = await instances(t, 1)
      const link = await breakableLink(t, new URL(way.urlOf(one)))
      const two = await buildApp(t, way.settings(link.url), { dataDir: one.dataDir })
      await until(() => two.context.notices.isUp())
      const ada = await two.user('ada')
      const device = await openDevice(t, await one.listen(), ada)
      link.breakAt = way.publishes
      await push(ada, change({ entity_id: 'x' }))
      t.same(await device.takeEntities('x'), ['x'], 'without the sweep')
      t.equal(link.breakAt, undefined, 'the line was broken')
    },
  )

  t.test(
    `${way.name}: an instance that receives no notices is not ready, and its log says what to set`,
    parallel,
    async (t) => {
      const [one] = await instances(t, 1)
      const [listening, elsewhere] = way.listening
      let hears = false
      const link = await startLink(t, new URL(way.urlOf(one)), (data) =>
        hears ? data : Buffer.from(data.toString('latin1').replaceAll(listening, elsewhere), 'latin1'),
      )
      const two = await buildApp(t, way.settings(link), { dataDir: one.dataDir })
      const readiness = async () => (await two.app.inject('/readyz')).statusCode
      await until(async () => (await readiness()) === 503)
      t.ok(two.log.some((line) => line.includes(way.remedy)))
      t.equal((await two.call('GET', '/api/v1/health')).body.status, 'unhealthy')
      t.not(one.context.health.status(), 'unhealthy', 'the other instance receives notices')
      hears = true
      await until(async () => (await readiness()) === 200)
      t.ok(two.log.some((line) => line.includes('notices arrive again')))
    },
  )
}

/** Tests of NATS only. LISTEN and NOTIFY cannot do this, or test/postgres/many-changes.test.ts covers it. */
function testNats(program: string, nats: Nats): void {
  const instances = (t: Test, count: number) => buildInstances(t, count, { PULSE_URL: nats.url })

  t.test('NATS: an instance receives notices only of users who have a socket there', parallel, async (t) => {
    const [one, two] = (await instances(t, 2)) as [TestApp, TestApp]
    const [ada, bob] = [await one.user('ada'), await one.user('bob')]
    const origin = await two.listen()
    const device = await openDevice(t, origin, ada)
    for (const [user, entity_id] of [
      [bob, 'x'],
      [ada, 'y'],
    ] as const)
      await push(user, change({ entity_id }))
    t.same(await device.takeEntities('y'), ['y'])
    t.ok(two.context.notices.counts().received <= 1, 'none about bob')
    device.socket.close()
    await until(() => two.context.hub.sockets() === 0)
    await push(ada, change({ entity_id: 'unheard' }))
    const bobs = await openDevice(t, origin, bob)
    await push(bob, change({ entity_id: 'z' }))
    t.same(await bobs.takeEntities('z'), ['z'])
    t.ok(two.context.notices.counts().received <= 2, 'no more about ada')
  })

  t.test(
    'NATS: after an outage, instances make up for missed notices, and no password is logged',
    parallel,
    async (t) => {
      // A separate NATS server, because this test stops it.
      const nats = await startNats(program)
      t.teardown(nats.stop)
      const [one, two] = (await buildInstances(t, 2, { PULSE_URL: nats.url })) as [TestApp, TestApp]
      const ada = await one.user('ada')
      const device = await openDevice(t, await two.listen(), ada)
      const readiness = async () => (await two.app.inject('/readyz')).statusCode
      await until(async () => (await readiness()) === 200)
      await nats.stop()
      await until(async () => (await readiness()) === 503)
      await push(ada, change({ entity_id: 'x' }))
      await nats.start()
      t.same(await device.takeEntities('x'), ['x'])
      await until(async () => (await readiness()) === 200)
      t.notMatch([...one.log, ...two.log].join(''), /pass(\/|%2F)word/)
    },
  )
}

/** A connection to the database that breaks once, when the text `breakAt` passes through it. */
async function breakableLink(t: Test, database: URL) {
  const link: { url: string; breakAt: string | undefined } = { url: '', breakAt: undefined }
  link.url = await startLink(t, database, (data) => {
    if (link.breakAt === undefined || !data.includes(link.breakAt)) return data
    link.breakAt = undefined
    return undefined
  })
  return link
}
