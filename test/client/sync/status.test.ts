import t from 'tap'
import { ApiError, OfflineError, SignedOutError, StorageFullError } from '../../../src/client/errors.ts'
import * as deferred from '../../../src/client/sync/deferred.ts'
import type { PullResponse } from '../../../src/client/sync/exchange/transport.ts'
import type { SyncStatus } from '../../../src/client/sync/store/emitter.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import { pick } from '../../support/pick.ts'
import { turns, until } from './clock.ts'
import {
  bookmark,
  type Device,
  numbered,
  online,
  openPeople,
  type Person,
  send,
  shown,
  sync,
  update,
} from './device.ts'
import { type Call, down, type Fate, failing, refused, up } from './network.ts'

const people = await openPeople()

t.test('an import and a first sync report their progress to the end, in a limited number of steps', async (t) => {
  const { a, b } = await people.open(t)
  await a.sync.put(numbered(1200))
  for (const device of [a, b]) {
    const heard = listen(device)
    await device.sync.start()
    await until(() => device.sync.status().state === 'polling')
    const steps = heard.flatMap(({ state, progress }) => (state === 'syncing' && progress ? progress : []))
    t.same(steps.at(-1), { done: 1200, total: 1200 })
    const rising = steps.toSorted((one, other) => one.done - other.done)
    t.same(steps, rising, 'the progress never goes back')
    t.ok(steps.length >= 3 && steps.length <= 10, `${steps.length} steps`)
    t.ok(heard.every(({ state, progress }) => (state === 'syncing') === (progress !== undefined)))
  }
})

t.test('the state follows the network and the session, with the reason', async (t) => {
  const { person, a } = await people.open(t)
  t.same(summary(a), ['offline', undefined], 'not started')
  const release = Promise.withResolvers<void>()
  a.network.fate = async (call) => release.promise.then(call.send)
  await a.sync.start()
  t.same(summary(a), ['connecting', undefined], 'the first state is already right, so a page does not flicker')
  await turns()
  t.same(summary(a), ['connecting', undefined])
  release.resolve()
  await until(() => a.network.socket !== undefined)
  t.same(summary(a), ['polling', undefined])
  a.network.socket?.greet(person.world.time)
  await until(() => a.sync.status().state === 'online')
  t.same(summary(a), ['online', undefined])

  for (const [fate, expected] of [
    [down, ['offline', 'network']],
    [failing(new ApiError(500, 'Internal server error')), ['offline', 'service']],
    [failing(new ApiError(429, 'Too many requests')), ['offline', 'limited']],
    [up, ['polling', undefined]],
    [failing(new SignedOutError()), ['signed-out', undefined]],
  ] as const) {
    a.network.fate = fate
    a.network.socket?.close()
    await person.world.pass(120_000)
    t.same(summary(a), expected)
  }
})

for (const [status, reason] of [
  [429, 'limited'],
  [503, 'service'],
] as const) {
  t.test(`while the service asks to wait by ${status}, the status has the time of the next try`, async (t) => {
    const { person, a } = await people.open(t)
    await online(person, a)
    const busy = (ms: number) => new ApiError(status, 'Busy', undefined, ms)
    let left = 2
    a.network.fate = (call) => (call.name === 'push' && left-- > 0 ? Promise.reject(busy(20_000)) : call.send())
    await a.sync.put(bookmark('x', 'one'))
    await until(() => a.sync.status().state === 'offline')
    t.match(a.sync.status(), { state: 'offline', reason, retryAt: person.world.time + 20_000, waiting: 1 })
    t.same(a.errors, [], 'nothing has failed')
    for (let waits = 0; waits < 2; waits++) await person.world.pass(21_000)
    await until(() => a.sync.status().waiting === 0)
    t.same([summary(a), a.sync.status().retryAt], [['online', undefined], undefined], 'the channel stayed open')
    t.equal(a.network.sockets.length, 1)

    a.network.fate = failing(busy(600_000))
    await a.sync.put(bookmark('y', 'two'))
    await until(() => a.errors.length > 0)
    t.match(a.sync.status(), { state: 'offline', reason, retryAt: person.world.time + 600_000 }, 'it waits as asked')
    await t.rejects(a.sync.syncNow(), { name: 'ApiError' })
    t.match(a.sync.status(), { reason, retryAt: person.world.time + 600_000 }, 'also after a syncNow meanwhile')
    const calls = a.network.calls.length
    await person.world.pass(599_000)
    t.equal(a.network.calls.length, calls)
    a.network.fate = up
    await person.world.pass(2000)
    await until(() => a.sync.status().waiting === 0)
    t.equal(a.sync.status().retryAt, undefined)
  })
}

t.test('a Retry-After of 0 does not change the state', async (t) => {
  const { person, a } = await people.open(t)
  await online(person, a)
  let left = 1
  const busy = new ApiError(503, 'Busy', undefined, 0)
  a.network.fate = (call) => (call.name === 'push' && left-- > 0 ? Promise.reject(busy) : call.send())
  await a.sync.put(bookmark('x', 'one'))
  await until(() => a.sync.status().state === 'offline')
  await person.world.pass(1000)
  await until(() => a.sync.status().waiting === 0)
  await turns()
  t.same([summary(a), a.sync.status().retryAt], [['online', undefined], undefined])
})

t.test('edits beyond the quota and refused edits are the reason in the status while others are sent', async (t) => {
  const { a } = await people.open(t)
  await a.sync.put(bookmark('x', 'one'))
  a.network.fate = (call) => (call.name === 'push' ? Promise.reject(new ApiError(400, 'malformed')) : call.send())
  await sync(a)
  t.same(summary(a), ['polling', 'refused'])
  await a.sync.put(bookmark('y', 'two'))
  a.network.fate = refused
  await sync(a)
  t.same(summary(a), ['polling', 'quota'], 'the reason that the user can do something about comes first')
  await a.sync.dropQuarantined(['x', 'y'])
  t.same(summary(a), ['polling', undefined])
})

t.test('if the network fails during a sync, the progress ends', async (t) => {
  const { a } = await people.open(t, { a: { store: memoryStore() } })
  await a.sync.put(numbered(600))
  let pushes = 0
  a.network.fate = (call) => (call.name === 'push' && ++pushes > 1 ? down(call) : call.send())
  const heard = listen(a)
  await t.rejects(a.sync.syncNow(), { name: 'OfflineError' })
  t.match(a.sync.status(), { state: 'offline', reason: 'network', progress: undefined, waiting: 100 })
  t.ok(heard.some(({ progress }) => progress?.done === 500 && progress.total === 600))
})

function listen({ sync }: Device): SyncStatus[] {
  const heard: SyncStatus[] = []
  sync.on('status', (status) => heard.push(status))
  return heard
}

function summary({ sync }: Device) {
  const { state, reason } = sync.status()
  return [state, reason]
}

const noPush: Fate = (call: Call) => (call.name === 'push' ? down(call) : up(call))

t.test('a delete that loses to two unsent edits in a row is reported to its device', async (t) => {
  const { person, a, b } = await people.open(t)
  await send(a, bookmark('x', 'original'), b)
  await b.sync.remove('x')
  await person.world.pass(1000)
  await a.sync.update('x', { title: 'first' })
  a.network.fate = async (call) => {
    if (call.name === 'push') await sync(b)
    return noPush(call)
  }
  await t.rejects(a.sync.syncNow(), OfflineError)
  await a.sync.update('x', { title: 'second' })
  a.network.fate = noPush
  for (let attempt = 0; attempt < 2; attempt++) {
    const rejected = t.rejects(a.sync.syncNow(), OfflineError)
    await person.world.pass(1000)
    await rejected
  }
  a.network.fate = up
  await sync(a, b)
  t.same([shown(a), shown(b)], [{ x: 'second' }, { x: 'second' }])
  t.match(b.sync.conflicts(), [{ id: 'x', fields: [], mine: null, theirs: { title: 'second' } }])
})

t.test('a bookmark that replaces one the device forgot at sign-out makes a conflict on that device', async (t) => {
  const { person, a, b } = await people.open(t)
  await send(b, bookmark('x', "b's", { description: "b's" }), a)
  await update(a, 'x', { title: "a's" })
  await person.world.pass(1000)
  const again = person.device('a')
  await send(again, bookmark('x', 'put before the first pull'), b)
  t.match([shown(again), shown(b)], Array(2).fill({ x: 'put before the first pull' }))
  const theirs = { title: 'put before the first pull' }
  const conflict = { id: 'x', fields: ['title', 'description'], mine: { title: "a's", description: "b's" }, theirs }
  t.match(again.sync.conflicts(), [conflict])
  t.same(b.sync.conflicts(), [])
})

t.test('without its deferred file, a device shows and edits its bookmarks, and syncs once it arrives', async (t) => {
  const person = await people.person(t)
  const store = memoryStore()
  await person.device('a', { store }).sync.put(bookmark('old', 'stored'))
  let isThere = false
  const loadDeferred = async () => {
    if (!isThere) throw new OfflineError()
    return deferred
  }
  const a = person.device('a', { store, loadDeferred })
  await a.sync.start()
  await a.sync.put([bookmark('new', 'made'), bookmark('gone', 'removed')])
  await a.sync.update('new', { title: 'edited' })
  await a.sync.remove('gone')
  t.same(shown(a), { new: 'edited', old: 'stored' })
  await t.rejects(a.sync.importBookmarks([bookmark('more', 'imported')]), { name: 'OfflineError' })
  await t.rejects(a.sync.move('new', { before: 'old' }), { name: 'OfflineError' })
  await t.rejects(a.sync.search('edited'), { name: 'OfflineError' })
  await t.rejects(a.sync.syncNow(), { name: 'OfflineError' })
  t.match(a.sync.status(), { state: 'offline', reason: 'network', waiting: 3 })
  t.same(a.errors, [])

  isThere = true
  await person.world.pass(10_000)
  await until(() => a.sync.status().waiting === 0)
  t.same(await person.stored(), { new: 'edited', old: 'stored' })
  t.same(pick(await a.sync.search('edited'), 'id'), ['new'])
})

t.test('a sync that waits for its deferred file stops at once', async (t) => {
  const { person, a } = await people.open(t, { a: { loadDeferred: () => new Promise(() => {}) } })
  await a.sync.start()
  const [syncing, importing] = [a.sync.syncNow(), a.sync.importBookmarks([bookmark('one', 'One')])]
  const ends = Promise.allSettled([syncing, importing])
  await turns()
  await a.sync.stop()
  t.match(await ends, [{ reason: { name: 'AbortError' } }, { reason: { name: 'AbortError' } }])
  t.equal(person.world.sleepers, 0)
})

t.test('the next page is requested while one is decrypted and stored', async (t) => {
  const person = await people.person(t)
  const { b, pullsAtWrite } = await inPages(person)
  await sync(b)
  t.same(shown(b), await person.stored())
  t.same(pullsAtWrite, [2, 3, 3])
})

t.test('a page that cannot be stored is pulled again, also if the next one was stored', async (t) => {
  const person = await people.person(t)
  const { b, failing } = await inPages(person)
  failing.add(2)
  await t.rejects(b.sync.syncNow(), StorageFullError)
  t.equal(b.sync.bookmarks().size, 5)
  t.equal(b.sync.status().lastSync, 0, 'a partial sync does not count: an extension waits for the rest')
  await sync(b)
  t.same(shown(b), await person.stored())
})

t.test('a service whose cursor stands still does not cause endless pulls, and nothing is lost', async (t) => {
  for (const epoch of [undefined, 'restored from a backup']) {
    const person = await people.person(t)
    const { b } = await inPages(person)
    const { pull } = b.network
    let pulls = 0
    await b.sync.put(bookmark('mine', 'not sent yet'))
    if (epoch) await b.sync.syncNow()
    b.network.pull = async (body, options) => {
      if (++pulls > 20) throw new Error('It pulls without end')
      const page = await pull(body, options)
      const stuck = body.since > 0 && { changes: [], last_sync_timestamp: body.since, has_more: true }
      return { ...page, ...stuck, ...(epoch && { epoch }) } as PullResponse
    }
    await t.rejects(b.sync.syncNow(), new ApiError(200, "The service's cursor stands still"))
    await b.sync.start()
    await until(() => b.errors.length === 2)
    t.match([b.errors, b.states.at(-1), pulls < 9], [[{ error: ApiError }, { error: ApiError }], 'offline', true])
    t.equal(b.sync.get('mine')?.title, 'not sent yet')
    b.network.pull = pull
    await person.world.pass(60_000)
    t.same(shown(b), await person.stored())
    t.equal(b.sync.bookmarks().size, 13)
  }
})

t.test('a service whose epoch changes with each page does not cause endless pulls, and nothing is lost', async (t) => {
  const person = await people.person(t)
  const { b } = await inPages(person)
  const { pull } = b.network
  await b.sync.put(bookmark('mine', 'not sent yet'))
  let pulls = 0
  b.network.pull = async (body, options) => {
    if (++pulls > 100) throw new Error('It pulls without end')
    return { ...(await pull(body, options)), epoch: `${pulls}` }
  }
  await t.rejects(b.sync.syncNow(), new ApiError(200, "The service's epoch does not last"))
  t.ok(pulls < 20, `${pulls} pulls`)
  b.network.pull = pull
  await sync(b)
  t.same(shown(b), await person.stored())
  t.equal(b.sync.bookmarks().size, 13)
})

/** Device b pulls the twelve changes of device a in pages of five. */
async function inPages(person: Person) {
  const a = person.device('a')
  await send(a, numbered(12))
  const store = memoryStore()
  const pullsAtWrite: number[] = []
  const failing = new Set<number>()
  const write: Store['write'] = async (rows, meta) => {
    pullsAtWrite.push(b.network.count('pull'))
    if (failing.delete(pullsAtWrite.length)) throw new StorageFullError()
    return store.write(rows, meta)
  }
  const b = person.device('b', { store: { ...store, write } })
  const { pull } = b.network
  b.network.pull = (body, options) => pull({ ...body, limit: 5 } as typeof body, options)
  return { b, pullsAtWrite, failing }
}
