import t, { type Test } from 'tap'
import { ApiError, memoryStore, SignedOutError, type Store } from '../../../src/client/index.ts'
import { findChange } from '../../../src/service/db/tables/changes.ts'
import { toSyncEvent } from '../../../src/service/sync/event.ts'
import { pick } from '../../support/pick.ts'
import { turns, until } from './clock.ts'
import { bookmark, type Device, online, openPeople, type Person, send, shown, sync } from './device.ts'
import { down, failing, hanging, older, up } from './network.ts'

const people = await openPeople()

t.test('the channel is opened from the last pull on, and changes are applied as they arrive', async (t) => {
  const { person, a, b } = await people.open(t)
  await send(a, bookmark('x', 'one'))
  await online(person, b)
  t.same(shown(b), { x: 'one' })
  t.equal(b.network.socket?.cursor, person.world.time, 'the socket begins at the last stamp')
  await send(a, bookmark('x', 'two'))
  await say(person, b, 'x')
  t.same(shown(b), { x: 'two' })
  t.same(b.changes.at(-1), { ids: ['x'], origin: 'remote' })
  const { event, stamp } = await messageOf(person, 'x')
  b.network.socket?.say({ type: 'sync', event: { ...event, entity_type: 'note' }, stamp: stamp + 1 })
  await say(person, b, 'x')
  t.same([b.errors, b.conflicts], [[], []], 'a repeated change is applied once, and other records are skipped')
  t.same(b.states, ['connecting', 'polling', 'online'], 'single changes do not change the state')
})

t.test('a device does not pull its own push, unless another change came in between', async (t) => {
  const { person, a, b } = await people.open(t)
  await online(person, a)
  const list = Array.from({ length: 1200 }, (_, index) => bookmark(`b${index}`, String(index)))
  await a.sync.importBookmarks(list)
  await until(() => a.sync.status().waiting === 0)
  const edit = async (title: string) => {
    await a.sync.put(bookmark('b0', title))
    await until(() => a.sync.status().waiting === 0)
  }
  await edit('edited')
  t.same(await pulledNext(a), [], 'after three batches and an edit')

  await sync(b)
  await send(b, bookmark('x', "b's"))
  t.same(await pulledNext(b), [])
  await edit('again')
  t.same(await pulledNext(a), ['x', 'b0'])
  t.equal(a.sync.get('x')?.title, "b's")
  t.same([a.errors, b.errors], [[], []])
})

t.test("a change sent before this device's push was accepted, and received after it, is not a rollback", async (t) => {
  const { person, a, b } = await people.open(t)
  await online(person, b)
  await send(a, bookmark('x', "a's"))
  const late = await messageOf(person, 'x')
  b.network.fate = older
  await person.world.pass(1000)
  await b.sync.put(bookmark('x', "b's"))
  await until(() => b.sync.status().waiting === 0)
  b.network.socket?.say(late)
  await turns()
  await until(() => b.network.calls.at(-1) === 'pull')
  await turns()
  t.same([shown(b), b.errors, b.conflicts], [{ x: "b's" }, [], []])
  await sync(a)
  t.match(a.conflicts, [{ mine: { title: "a's" }, theirs: { title: "b's" } }])
})

t.test('after a missing change, the device pulls it together with the next one', async (t) => {
  const { person, a, b } = await people.open(t)
  await online(person, b)
  await send(a, bookmark('missed', 'one'))
  const { stamp: previous_stamp } = await messageOf(person, 'missed')
  await send(a, bookmark('x', 'two'))
  const two = await messageOf(person, 'x')
  b.network.socket?.say({ ...two, previous_stamp })
  await until(() => b.sync.get('x') !== undefined)
  t.same(shown(b), { missed: 'one', x: 'two' })
  await send(a, bookmark('x', 'three'))
  const pulls = b.network.calls.length
  b.network.socket?.say({ ...(await messageOf(person, 'x')), previous_stamp: two.stamp })
  await until(() => b.sync.get('x')?.title === 'three')
  t.equal(b.network.calls.length, pulls, 'if no change is missing, nothing is pulled')
})

t.test('an older change that the channel repeats after a newer one is not a rollback', async (t) => {
  const { person, a, b } = await people.open(t)
  await online(person, b)
  const said: object[] = []
  for (const title of ['one', 'two']) {
    await send(a, bookmark('x', title))
    said.push(await messageOf(person, 'x'))
  }
  for (const message of [...said, ...said]) b.network.socket?.say(message)
  await until(() => b.sync.get('x')?.title === 'two')
  for (const message of said) b.network.socket?.say(message)
  await turns()
  t.same([shown(b), b.errors], [{ x: 'two' }, []])
})

t.test('a rollback on the channel is reported', async (t) => {
  const { person, a, b } = await people.open(t)
  await send(a, bookmark('x', 'old'))
  const old = await messageOf(person, 'x')
  await send(a, bookmark('x', 'new'))
  await online(person, b)
  b.network.socket?.say({ ...old, stamp: person.world.time + 1000 })
  await until(() => b.errors.length > 0)
  t.match(b.errors, [{ id: 'x', error: { name: 'RollbackError' } }])
  t.same(shown(b), { x: 'new' })
})

t.test('pings are answered, and invalid messages are ignored', async (t) => {
  const { person, a } = await people.open(t)
  await online(person, a)
  const { socket } = a.network
  socket?.say({ type: 'ping' })
  socket?.dispatchEvent(new MessageEvent('message', { data: 'no JSON' }))
  socket?.say({ type: 'something new' })
  await turns()
  t.same(socket?.sent, ['{"type":"pong"}'])
  t.equal(a.sync.status().state, 'online')
})

t.test('after 45 s of silence, the channel is closed and opened again', async (t) => {
  const { person, a } = await people.open(t)
  await online(person, a)
  for (let second = 0; second < 100; second += 20) {
    await person.world.pass(20_000)
    a.network.socket?.say({ type: 'ping' })
  }
  t.equal(a.network.sockets.length, 1, 'pings keep it')
  await person.world.pass(44_000)
  t.ok(a.network.sockets[0]?.isOpen)
  await person.world.pass(1000)
  t.notOk(a.network.sockets[0]?.isOpen)
  await person.world.pass(1000)
  await until(() => a.network.sockets.length === 2)
  await greet(person, a)
  t.equal(a.sync.status().state, 'online')
})

t.test('silence is noticed within twice that time even if the clock was set back', async (t) => {
  const person = await people.person(t)
  let skew = 0
  const a = person.device('a', { clock: person.world.clock(() => skew) })
  await online(person, a)
  skew = -60 * 86_400_000
  const { wakes } = person.world
  await person.world.pass(90_000)
  t.notOk(a.network.sockets[0]?.isOpen)
  t.ok(person.world.wakes - wakes < 10)
})

t.test('an idle device is woken only by pings', async (t) => {
  const { person, a } = await people.open(t)
  await online(person, a)
  const pinged = async (times: number) => {
    for (let ping = 0; ping < times; ping++) {
      await person.world.pass(20_000)
      a.network.socket?.say({ type: 'ping' })
    }
  }
  await pinged(3)
  const before = person.world.wakes
  await pinged(60)
  t.equal(person.world.wakes - before, 0, 'in 20 minutes')
  t.equal(a.network.sockets.length, 1)
})

t.test('a channel without a greeting counts as refused after 20 s', async (t) => {
  const { person, a } = await people.open(t)
  await a.sync.start()
  await until(() => a.network.socket !== undefined)
  await person.world.pass(19_000)
  t.ok(a.network.socket?.isOpen)
  await person.world.pass(1000)
  t.notOk(a.network.sockets[0]?.isOpen)
  t.equal(a.sync.status().state, 'polling')
})

t.test('after three refusals, a clock set back by hours delays the next handshake by minutes at most', async (t) => {
  const person = await people.person(t)
  let skew = 0
  const a = person.device('a', { clock: person.world.clock(() => skew) })
  await a.sync.start()
  await refuseThrice(person, a)
  skew = -3 * 3_600_000
  await person.world.pass(360_000)
  t.ok(a.network.sockets.length > 3)
})

t.test('after three refused sockets, the device polls every 30 s, and tries a socket now and then', async (t) => {
  const { person, a, b } = await people.open(t)
  await a.sync.start()
  await refuseThrice(person, a)
  t.equal(a.sync.status().state, 'polling')
  const pulls = () => a.network.count('pull')
  const before = pulls()
  for (let second = 0; second < 240; second++) await person.world.pass(1000)
  await turns()
  t.equal(pulls() - before, 8)
  t.equal(a.network.sockets.length, 3)
  t.equal(a.network.count('getStatus'), 1, 'the digests are compared once')

  await send(b, bookmark('x', 'polled'))
  for (let second = 0; second < 31; second++) await person.world.pass(1000)
  await until(() => 'x' in shown(a))
  await a.sync.put(bookmark('y', 'sent'))
  await until(() => a.sync.status().waiting === 0)
  t.ok('y' in (await person.stored()), 'edits are sent at once')

  while (a.network.sockets.length < 4) await person.world.pass(1000)
  await greet(person, a)
  t.equal(a.sync.status().state, 'online')
})

t.test('without answers, random waits grow to 30 s; ten good seconds make them short again', async (t) => {
  const { person, a } = await people.open(t, { a: { random: () => 1 } })
  a.network.fate = down
  await a.sync.start()
  const tries = () => a.network.calls.length
  await until(() => tries() === 1)
  t.equal(a.sync.status().state, 'offline')
  const waits: number[] = []
  for (let count = 1; count < 9; count++) {
    let seconds = 0
    for (; tries() === count; seconds++) await person.world.pass(1000)
    waits.push(seconds)
  }
  t.same(waits, [2, 3, 5, 9, 17, 30, 30, 30])
  t.same(a.errors, [], 'a missing network is not an error')

  a.network.fate = up
  await person.world.pass(30_000)
  for (let restarts = 1; restarts <= 5; restarts++) {
    await until(() => a.network.sockets.length === restarts)
    await greet(person, a)
    await person.world.pass(10_000)
    // In every second round, the service stops during an edit.
    const before = tries()
    a.network.fate = down
    if (restarts % 2) await a.sync.put(bookmark('x', String(restarts)))
    a.network.socket?.close(1001)
    await turns()
    for (let second = 0; second < 4; second++) await person.world.pass(1000)
    await until(() => tries() >= before + 2)
    a.network.fate = up
    await person.world.pass(6000)
  }
})

t.test('if the service hangs up soon after each greeting, the waits grow longer and longer', async (t) => {
  const { person, a } = await people.open(t, { a: { random: () => 1 } })
  const waits = await waitsAfter(person, a, async () => {
    await greet(person, a)
    await person.world.pass(9000)
    a.network.socket?.close(1011)
    await turns()
  })
  t.same(waits, [1, 2, 4, 8, 16, 30, 30])
})

t.test('a silent handshake does not make the waits short again', async (t) => {
  const { person, a } = await people.open(t, { a: { random: () => 1 } })
  const waits = await waitsAfter(person, a, async (count) => {
    if (count % 2 === 0) return
    await greet(person, a)
    a.network.socket?.close(1011)
  })
  t.same(waits, [1, 22, 4, 28, 16, 50, 30])
})

/** Calls `end` for each of the first seven sockets. Returns how long (s) it then takes until the next is opened. */
async function waitsAfter(person: Person, a: Device, end: (count: number) => Promise<void>): Promise<number[]> {
  await a.sync.start()
  const opened = () => a.network.sockets.length
  const waits: number[] = []
  for (let count = 1; count < 8; count++) {
    await until(() => opened() === count)
    await end(count)
    let seconds = 0
    for (; opened() === count; seconds++) await person.world.pass(1000)
    waits.push(seconds)
  }
  return waits
}

t.test('waits are short again once the platform reports a network, and while changes are polled', async (t) => {
  const platform = platformOf(t)
  const { person, a } = await people.open(t, { a: { random: () => 1 } })
  const tries = () => a.network.calls.length
  const secondsTo = async (count: number) => {
    let seconds = 0
    for (; tries() < count; seconds++) await person.world.pass(1000)
    return seconds
  }
  a.network.fate = down
  await a.sync.start()
  await person.world.pass(120_000)
  const before = tries()
  platform.dispatchEvent(new Event('online'))
  await until(() => tries() > before)
  t.equal(await secondsTo(tries() + 1), 2, 'right after that, DNS may not work yet')
  await person.world.pass(120_000)

  a.network.fate = up
  a.network.onSocket = (socket) => queueMicrotask(() => socket.close(1006))
  for (let second = 0; second < 120; second++) await person.world.pass(1000)
  t.equal(a.network.sockets.length, 3)
  a.network.fate = down
  await secondsTo(tries() + 1)
  t.equal(await secondsTo(tries() + 1), 2)
})

t.test('an error of the service is reported and retried', async (t) => {
  const { person, a } = await people.open(t)
  const unavailable = new ApiError(503, 'Service unavailable', 'request-1')
  a.network.fate = failing(unavailable)
  await a.sync.start()
  await until(() => a.errors.length === 1)
  t.equal(a.errors[0]?.error, unavailable)
  a.network.fate = up
  await person.world.pass(2000)
  await until(() => a.sync.status().state === 'polling')
})

t.test('if the channel is closed because the session ended, the device is signed out or refreshes', async (t) => {
  const { person, a } = await people.open(t)
  await online(person, a)
  a.network.socket?.close(4401)
  await person.world.pass(1000)
  await until(() => a.network.sockets.length === 2)
  await greet(person, a)
  t.equal(a.sync.status().state, 'online', 'the client could refresh the session')

  a.network.fate = failing(new SignedOutError())
  a.network.socket?.close(4401)
  await person.world.pass(1000)
  await until(() => a.sync.status().state === 'signed-out')
  await a.sync.put(bookmark('x', 'kept'))
  await person.world.pass(600_000)
  t.match(a.sync.status(), { state: 'signed-out', waiting: 1 })
})

t.test("the device follows the platform's online and offline events", async (t) => {
  const platform = platformOf(t)
  const { person, a } = await people.open(t)
  await online(person, a)
  a.network.fate = down
  platform.dispatchEvent(new Event('offline'))
  t.equal(a.sync.status().state, 'offline', 'at once')
  await turns()
  t.notOk(a.network.sockets[0]?.isOpen)
  await person.world.pass(30_000)
  t.equal(a.sync.status().state, 'offline')
  a.network.fate = up
  platform.dispatchEvent(new Event('online'))
  await until(() => a.network.sockets.length === 2)
})

t.test('after a stop nothing runs any more: no timer, no socket, no call', async (t) => {
  const person = await people.person(t)
  for (const when of ['online', 'offline', 'polling', 'calling'] as const) {
    const a = person.device(`stopped-${when}`)
    if (when === 'online') await online(person, a)
    else {
      if (when === 'offline') a.network.fate = down
      if (when === 'calling') a.network.fate = hanging
      await a.sync.start()
      await until(() => a.network.calls.length > 0)
      await turns(20)
      if (when === 'polling') a.network.socket?.close()
    }
    await turns(20)
    await a.sync.stop()
    const calls = a.network.calls.length
    t.equal(person.world.sleepers, 0, `${when}: no timer`)
    t.notOk(a.network.socket?.isOpen, `${when}: no socket`)
    await person.world.pass(600_000)
    t.equal(a.network.calls.length, calls, `${when}: no call`)
    await t.rejects(a.sync.put(bookmark('x', 'late')), { name: 'AbortError' })
    await t.rejects(a.sync.syncNow(), { name: 'AbortError' })
    await t.rejects(a.sync.search('late'), { name: 'AbortError' })
  }
})

t.test('a stop waits until syncNow has stored its changes, and leaves the store closed', async (t) => {
  const { person, b } = await people.open(t)
  await send(b, bookmark('x', 'one'))
  const memory = memoryStore()
  const { promise: reading, resolve: read } = Promise.withResolvers<void>()
  let isClosed = false
  const late: string[] = []
  const store: Store = {
    ...memory,
    async read(ids) {
      if (ids.includes('x')) read()
      await turns(5)
      if (isClosed) late.push('read')
      return memory.read(ids)
    },
    async write(...written) {
      if (isClosed) late.push('write')
      return memory.write(...written)
    },
    close() {
      isClosed = true
    },
  }
  const a = person.device('a', { store })
  await a.sync.put(bookmark('y', 'two'))
  const syncing = a.sync.syncNow()
  const aborted = t.rejects(syncing, { name: 'AbortError' })
  await reading
  await a.sync.stop()
  await turns(20)
  t.same(late, [])
  await aborted
})

t.test('an abort signal ends a wait', async (t) => {
  const { a } = await people.open(t)
  a.network.fate = hanging
  const reason = new Error('enough')
  const controller = new AbortController()
  const waiting = a.sync.syncNow({ signal: controller.signal })
  const behind = a.sync.syncNow({ signal: controller.signal })
  await turns()
  controller.abort(reason)
  await t.rejects(waiting, reason)
  await t.rejects(behind, reason)
  a.network.fate = up
  await sync(a)
})

t.test('a call in a hanging network fails after two minutes, and does not delay a stop', async (t) => {
  const { person, a } = await people.open(t)
  const { pull } = a.network
  a.network.pull = () => new Promise(() => {})
  const late = t.rejects(a.sync.syncNow(), { name: 'OfflineError' })
  await turns()
  await person.world.pass(120_000)
  await late
  a.network.pull = pull
  await sync(a)
  const pulling = Promise.withResolvers<void>()
  a.network.pull = () => {
    pulling.resolve()
    return new Promise(() => {})
  }
  await a.sync.start()
  await pulling.promise
  await turns()
  await a.sync.stop()
})

async function greet({ world }: Person, { network }: Device): Promise<void> {
  network.socket?.greet(world.time)
  await turns()
}

async function refuseThrice({ world }: Person, { network }: Device): Promise<void> {
  for (let attempt = 1; attempt <= 3; attempt++) {
    await until(() => network.sockets.length === attempt)
    network.socket?.close(1006)
    await turns()
    await world.pass(attempt < 3 ? 2000 : 0)
  }
}

/** Lets the test fire the platform's online and offline events. */
function platformOf(t: Test): EventTarget {
  const platform = new EventTarget()
  Object.assign(globalThis, { addEventListener: platform.addEventListener.bind(platform) })
  t.teardown(() => Reflect.deleteProperty(globalThis, 'addEventListener'))
  return platform
}

/** The ids of the records that the device pulls at its next exchange. */
async function pulledNext({ sync, network }: Device): Promise<string[]> {
  const before = network.pages.length
  await sync.syncNow()
  return network.pages.slice(before).flatMap(({ changes }) => pick(changes, 'entity_id'))
}

/** The message that the service sends for the bookmark's newest change, without `previous_stamp`. */
async function messageOf({ user }: Person, id: string) {
  const key = { entity_type: 'bookmark', entity_id: id } as const
  const row = await findChange(people.app.context.database.db, { userId: user.userId, ...key })
  if (!row) throw new Error(`no change of ${id}`)
  return { type: 'sync', event: toSyncEvent(row), stamp: row.sequence }
}

async function say(person: Person, { network }: Device, id: string): Promise<void> {
  network.socket?.say(await messageOf(person, id))
  await turns()
}
