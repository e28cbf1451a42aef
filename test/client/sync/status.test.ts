/** What `status` tells: the state, how far the sync is, and why something waits. */
import t from 'tap'
import { ApiError, SignedOutError, StorageFullError } from '../../../src/client/errors.ts'
import type { SyncStatus } from '../../../src/client/sync/store/emitter.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { bookmark, type Device } from './device.ts'
import { down, type Fate, refused, up } from './network.ts'
import { openPeople } from './person.ts'
import { turns, until } from './turns.ts'

const people = await openPeople()

t.test(
  'an import and a first sync tell how far they are, up to the end, and in no more steps than can be read',
  async (t) => {
    const person = await people.person(t)
    const [a, b] = [person.device('a'), person.device('b')]
    await a.sync.put(numbered(1200))
    for (const device of [a, b]) {
      const heard = listen(device)
      await device.sync.start()
      await until(() => device.sync.status().state === 'polling')
      const steps = heard.flatMap(({ state, progress }) => (state === 'syncing' && progress ? progress : []))
      t.same(steps.at(-1), { done: 1200, total: 1200 })
      t.same(
        steps,
        steps.toSorted((one, other) => one.done - other.done),
        'it never goes back',
      )
      t.ok(steps.length >= 3 && steps.length <= 10, `${steps.length} steps`)
      t.same(
        heard.filter(({ state, progress }) => (state === 'syncing') !== (progress !== undefined)),
        [],
      )
    }
  },
)

t.test('the state follows the network and the session, with the reason', async (t) => {
  const person = await people.person(t)
  const a = person.device('a')
  t.same(summary(a), ['offline', undefined], 'not started')
  const release = Promise.withResolvers<void>()
  a.network.fate = async (call) => release.promise.then(call.send)
  await a.sync.start()
  t.same(summary(a), ['connecting', undefined], 'at once: a page that shows it now says nothing else first')
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
    [failing(new ApiError(503, 'Service unavailable')), ['offline', 'network']],
    [failing(new StorageFullError()), ['offline', 'storage']],
    [up, ['polling', undefined]],
    [failing(new SignedOutError()), ['signed-out', undefined]],
  ] as const) {
    a.network.fate = fate
    a.network.socket?.close()
    await person.world.pass(120_000)
    t.same(summary(a), expected)
  }
})

t.test('edits beyond the quota, and those that were refused, are the reason while the rest goes on', async (t) => {
  const person = await people.person(t)
  const a = person.device('a')
  await a.sync.put(bookmark('x', 'one'))
  a.network.fate = (call) => (call.name === 'push' ? Promise.reject(new ApiError(400, 'malformed')) : call.send())
  await a.sync.syncNow()
  t.same(summary(a), ['polling', 'refused'])
  await a.sync.put(bookmark('y', 'two'))
  a.network.fate = refused
  await a.sync.syncNow()
  t.same(summary(a), ['polling', 'quota'], 'the one that the user can help')
  await a.sync.dropQuarantined(['x', 'y'])
  t.same(summary(a), ['polling', undefined])
})

t.test('the network fails in the middle of a sync: the progress ends with it', async (t) => {
  const person = await people.person(t)
  const a = person.device('a', { store: memoryStore() })
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

function failing(error: Error): Fate {
  return () => Promise.reject(error)
}

function numbered(count: number): ReturnType<typeof bookmark>[] {
  return Array.from({ length: count }, (_, index) => bookmark(`b${index}`, String(index)))
}
