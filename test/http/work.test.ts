import { connect } from 'node:net'
import { mock } from 'node:test'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createLimits } from '../../src/service/load/rates.ts'
import { beginWait, count, currentWork, measured, newWork, runAs, uncounted } from '../../src/service/thread/work.ts'
import { openDevice } from '../realtime/device.ts'
import { openAdmin } from '../support/admin.ts'
import { buildApp, type TestApp } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { gatherWrites, interceptWrites, onRead } from '../support/database.ts'
import { createdExport, endLeases } from '../support/exports.ts'
import { until } from '../support/until.ts'

const list = '/api/v1/bookmarks'
const exports = '/api/v1/exports'
const content = { encrypted_data: 'data', data_hash: 'hash' }
/** Two of these are more than the default rate allows in a minute, 1,200 times 12 ms. */
const much = 8000

function take(ms: number): void {
  const work = currentWork()
  if (work) work.ms += ms
}

/** Every transaction of a user takes so long. */
function slowWrites({ context }: TestApp, ms: number): () => void {
  return interceptWrites(context, (write) =>
    write((work) => {
      take(ms)
      return work()
    }),
  )
}

async function start(t: Test) {
  const app = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '1200' })
  return { app, ada: await app.user('ada'), bob: await app.user('bob') }
}

t.test('Who takes much of the event loop or the database by reading gets 429, and others go on', async (t) => {
  const { app, ada, bob } = await start(t)
  for (const user of [ada, bob]) await user.call('POST', list, { body: content })
  let isSlow = true
  onRead(app.context, () => isSlow && take(much))
  for (const status of [200, 200, 429]) t.equal((await ada.call('GET', list)).status, status)
  isSlow = false
  const { status, headers } = await ada.call('POST', '/api/v1/sync/pull')
  t.equal(status, 429, 'whatever it asks for')
  const wait = Number(headers['retry-after'])
  t.ok(wait >= 1 && wait <= 60, `Retry-After ${wait} s`)
  t.equal((await bob.call('GET', list)).status, 200)
})

t.test('Who takes much by writing gets 429; those who share a transaction share its time', async (t) => {
  const { app, ada, bob } = await start(t)
  const restore = slowWrites(app, much)
  for (const status of [201, 201, 429])
    t.equal((await ada.call('POST', list, { body: content })).status, status, 'one after the other')
  const { writeTogether } = app.context
  restore()
  app.context.writeTogether = (trx, owner, shares) => {
    take(much)
    return writeTogether(trx, owner, shares)
  }
  gatherWrites(app.context, 8)
  const pushes = Array.from({ length: 8 }, (_, n) => push(bob, change({ entity_id: `x${n}` })))
  await Promise.all(pushes)
  const works = app.log
    .map((line) => JSON.parse(line))
    .filter(({ user, status }) => user === bob.userId && status === 200)
  t.equal(works.length, 8)
  t.ok(
    works.every(({ work_ms }) => work_ms < much),
    `${works.map(({ work_ms }) => work_ms)}`,
  )
})

t.test('What is worked on for a caller who is gone counts, too', async (t) => {
  const { app, ada } = await start(t)
  const { hostname, port } = new URL(await app.listen())
  const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const stop = interceptWrites(app.context, (write) =>
    write(async (work) => {
      begun.resolve()
      await finish.promise
      take(2 * much)
      return work()
    }),
  )
  const connection = connect(Number(port), hostname)
  const body = JSON.stringify(content)
  const head = [`POST ${list} HTTP/1.1`, 'Host: x', `Cookie: ${ada.cookie}`, 'Content-Type: application/json']
  connection.write([...head, `Content-Length: ${body.length}`, '', body].join('\r\n'))
  await begun.promise
  connection.destroy()
  const connections = () => new Promise<number>((resolve) => app.app.server.getConnections((_, n) => resolve(n)))
  await until(async () => (await connections()) === 0)
  finish.resolve()
  stop()
  await until(async () => (await ada.call('GET', list)).status === 429)
})

t.test('What the messages of a socket take counts, and the socket rests', async (t) => {
  const { app, ada, bob } = await start(t)
  const device = await openDevice(t, await app.listen(), ada)
  slowWrites(app, 2 * much)
  device.send({ type: 'sync', event: change({ entity_id: 'x', device_id: 'device-b' }) })
  await device.nextSync()
  await until(async () => (await ada.call('GET', list)).status === 429)
  t.equal((await bob.call('GET', list)).status, 200)
  device.send({ type: 'ping' })
  t.same(await device.next(), { type: 'error', error: 'Too many requests' })
  t.equal(device.socket.readyState, device.socket.OPEN)
})

t.test('What is read for the sockets of a user counts', async (t) => {
  const { app, ada, bob } = await start(t)
  const origin = await app.listen()
  await ada.call('POST', list, { body: content })
  onRead(app.context, () => take(2 * much))
  const device = await openDevice(t, origin, ada, { since: 0 })
  await device.nextSync()
  await until(async () => (await ada.call('GET', '/api/v1/account')).status === 429)
  t.equal((await bob.call('GET', '/api/v1/account')).status, 200)
})

t.test(
  'What is worked for the exports of a user counts: further ones wait until it is paid, and others’ do not',
  async (t) => {
    const { app, ada, bob } = await start(t)
    const { context } = app
    for (const user of [ada, bob]) await user.call('POST', list, { body: content })
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const restore = { bulk: context.database.bulk }
    let reads = 0
    onRead(
      context,
      async () => {
        // Two are made at a time.
        if (++reads === 2) begun.resolve()
        await goOn.promise
        take(much)
      },
      'bulk',
    )
    const asked: string[] = []
    for (let count = 0; count < 3; count++) asked.push((await ada.call('POST', exports)).body.id)
    await begun.promise
    goOn.resolve()
    await until(async () => (await ada.call('GET', list)).status === 429)
    // On a busy machine, it must not be paid by the time that the rest takes.
    context.limits.chargeWork(ada.userId, 100 * much)
    t.equal((await bob.call('GET', list)).status, 200)
    Object.assign(context.database, restore)
    t.equal((await createdExport(bob)).status, 'completed')
    const states = async () => {
      const rows = await context.database.db.selectFrom('exports').select(['id', 'status']).execute()
      return asked.map((id) => rows.find((row) => row.id === id)?.status)
    }
    await until(async () => (await states())[1] === 'completed')
    t.same(await states(), ['completed', 'completed', 'processing'], 'what has begun goes on')

    context.limits.chargeWork(ada.userId, -103 * much)
    await until(async () => {
      await endLeases(context)
      context.exportWorker.wake()
      return (await states())[2] === 'completed'
    })
    t.equal((await ada.call('GET', list)).status, 200)
  },
)

t.test('The log and a metric tell what requests took', async (t) => {
  const { app, ada } = await start(t)
  const { scrape } = openAdmin(t, app)
  slowWrites(app, 70)
  await ada.call('POST', list, { body: content })
  const line = app.log.map((line) => JSON.parse(line)).find(({ status }) => status === 201)
  t.ok(line.work_ms >= 70, `${line.work_ms}`)
  const labels = { operation: 'createBookmark' }
  const metrics = await scrape()
  t.equal(metrics.value('ebs_http_request_work_seconds_count', labels), 1)
  t.ok(Number(metrics.value('ebs_http_request_work_seconds_sum', labels)) >= 0.07)
})

/** A rate of 100 requests, and so 1,200 ms, whose minutes pass when the test says so. */
function limitsWithClock(t: Test) {
  let now = 1_000_000
  const clock = mock.method(performance, 'now', () => now)
  t.teardown(() => clock.mock.restore())
  const limits = createLimits({ rateLimitPerMinute: 100 })
  const ask = () => {
    try {
      limits.countUser('ada')
      return 200
    } catch (error) {
      return Number((error as { headers: Record<string, string> }).headers['retry-after'])
    }
  }
  return { limits, ask, pass: (seconds: number) => (now += seconds * 1000) }
}

t.test('What exceeds the rate of a minute is a debt of the next ones', (t) => {
  const { limits, ask, pass } = limitsWithClock(t)
  t.equal(ask(), 200)
  t.equal(limits.chargeWork('ada', 1200), undefined, 'what was allowed')
  t.equal(ask(), 60)
  t.equal(limits.chargeWork('ada', 1800), 120_000)
  pass(59)
  t.equal(ask(), 61, 'after three times as much as a minute has')
  pass(60)
  t.equal(ask(), 1)
  pass(1)
  t.equal(ask(), 200, 'half of it is left')
  limits.chargeWork('ada', 600)
  t.equal(ask(), 60)
  pass(60)
  t.equal(ask(), 200)
  limits.chargeWork('ada', 1e9)
  t.equal(ask(), 600 + 60, 'nobody is shut out for more than ten minutes')
  pass(600)
  t.equal(ask(), 60)
  t.end()
})

t.test('So is what its bytes cost; what is refused does not count', (t) => {
  const { limits, ask, pass } = limitsWithClock(t)
  limits.chargeUser('ada', 250)
  for (let asked = 0; asked < 500; asked++) ask()
  t.equal(ask(), 120)
  pass(120)
  for (let asked = 0; asked < 50; asked++) t.equal(ask(), 200)
  t.equal(ask(), 60)
  t.end()
})

/** A thread that has the processor for a part of its time. */
function threadWithClock(t: Test) {
  let [now, had, part] = [0, 0, 1]
  const clocks = [
    mock.method(performance, 'now', () => now),
    mock.method(process, 'threadCpuUsage', (before?: { user: number }) => ({
      user: had * 1000 - (before?.user ?? 0),
      system: 0,
    })),
  ]
  t.teardown(() => {
    for (const clock of clocks) clock.mock.restore()
  })
  const pass = (ms: number) => {
    now += ms
    had += ms * part
  }
  return {
    pass,
    /** From now on; what was known of other times is forgotten. */
    share(some: number): void {
      part = some
      for (let section = 0; section < 10_000; section++) measured(() => pass(10))
    },
  }
}

t.test('Time counts once, for whom it was taken', async (t) => {
  const { pass, share } = threadWithClock(t)
  share(1)
  const [one, other] = [newWork('ada'), newWork('bob')]
  runAs(one, () => {
    pass(3)
    measured(() => pass(5))
    const began = uncounted()
    runAs(other, () => pass(7))
    pass(1)
    count(began)
    pass(1)
  })
  t.same([one.ms, other.ms].map(Math.round), [10, 7])
  await runAs(one, async () => {
    await eventLoopTurn()
    const [first, second] = [beginWait(), beginWait()]
    pass(4)
    first()
    pass(2)
    second()
  })
  t.equal(Math.round(one.ms), 16, 'what a server is asked at the same time counts once')
})

t.test('Nobody pays for what others take of the processor', async (t) => {
  const { pass, share } = threadWithClock(t)
  for (const part of [1, 0.25, 1]) {
    share(part)
    const work = newWork('ada')
    runAs(work, () => pass(100))
    runAs(work, () => {
      const end = beginWait()
      pass(100)
      end()
    })
    t.ok(Math.abs(work.ms - 300 * part) < 6, `${work.ms} of 300 at ${part}`)
  }
})
