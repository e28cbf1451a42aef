import t, { type Test } from 'tap'
import { QuotaExceeded } from '../../../generated/errors.ts'
import { ApiError } from '../../../src/client/errors.ts'
import { type Clock, memoryStore, type Store } from '../../../src/client/index.ts'
import { StoreEmptiedError } from '../../../src/client/sync/store/store.ts'
import { pullAll } from '../../support/changes.ts'
import { pick } from '../../support/pick.ts'
import { until } from './clock.ts'
import { bookmark, online, openPeople, type Person, send, shown, sync } from './device.ts'
import { changesOf } from './network.ts'

/** Devices whose clocks are wrong for a while. */

const people = await openPeople()
const hourMs = 3_600_000

t.test('an edit made with the clock hours ahead loses to a later one, once the clock was corrected', async (t) => {
  const { person, clock, a, b } = await pair(t)
  clock.skew = 6 * hourMs
  await a.sync.put(bookmark('x', 'by a'))
  clock.skew = 0
  await person.world.pass(1000)
  await sync(a)
  await person.world.pass(hourMs)
  await send(b, bookmark('x', 'by b'), a)
  t.same([shown(a), shown(b)], [{ x: 'by b' }, { x: 'by b' }])
  t.match([a.conflicts, b.conflicts], [[{ mine: { title: 'by a' }, theirs: { title: 'by b' } }], []])
})

t.test('edits made after a wrong clock was corrected have the right time', async (t) => {
  const { person, clock, a } = await pair(t)
  clock.skew = 6 * hourMs
  await a.sync.put(bookmark('y', 'while it was wrong'))
  clock.skew = 0
  for (const id of ['y', 'z']) {
    await send(a, bookmark(id, 'after it was put right'))
  }
  t.same(await errorsOfTime(person, ['z']), [0])
})

t.test('a device with its clock hours ahead corrects the times of its edits before it sends them', async (t) => {
  const { person, clock, a, b } = await pair(t)
  await person.world.pass(2 * hourMs)
  clock.skew = 6 * hourMs
  await send(a, bookmark('x', 'by a'))
  t.same(await errorsOfTime(person, ['x']), [0])
  clock.skew = 0
  await person.world.pass(hourMs)
  await send(b, bookmark('x', 'by b'), a)
  t.same([shown(a), shown(b)], [{ x: 'by b' }, { x: 'by b' }])
})

t.test("a clock hours ahead is noticed even if stamps are as far ahead, because the service's clock was", async (t) => {
  const { person, clock, a, b } = await pair(t)
  await person.world.pass(2 * hourMs)
  people.app.setClock(person.world.time + 20 * hourMs)
  await send(b, bookmark('y', 'by b'))
  people.app.setClock(person.world.time)
  await sync(a)
  clock.skew = 20.5 * hourMs
  await send(a, bookmark('x', 'by a'))
  t.same(await errorsOfTime(person, ['x']), [0])
})

t.test('the answer to a push corrects a clock half an hour ahead, also without a channel', async (t) => {
  const { person, clock, a } = await pair(t)
  clock.skew = hourMs / 2
  for (const id of ['y', 'z']) {
    await send(a, bookmark(id, id))
  }
  t.same(await errorsOfTime(person, ['z']), [0])
})

t.test('a clock set hours ahead during a push is noticed before the edits made meanwhile are sent', async (t) => {
  const { person, clock, a } = await pair(t)
  await a.sync.put(bookmark('x', 'one'))
  a.network.fate = async ({ name, send }) => {
    const answer = await send()
    if (name !== 'push' || clock.skew > 0) return answer
    clock.skew = 6 * hourMs
    await a.sync.put(bookmark('y', 'two'))
    return answer
  }
  await sync(a)
  t.same(await errorsOfTime(person, ['y']), [0])
})

t.test('a clock set hours ahead during a refused push is noticed before the edits made then are sent', async (t) => {
  const { person, clock, a } = await pair(t)
  await a.sync.put([bookmark('x', 'before'), bookmark('y', 'before')])
  a.network.fate = async (call) => {
    if (changesOf(call).length < 2) return call.send()
    clock.skew = 6 * hourMs
    await a.sync.put(bookmark('x', 'edited then'))
    throw new ApiError(...QuotaExceeded)
  }
  await sync(a)
  t.same(await person.stored(), { x: 'edited then', y: 'before' })
  t.ok(Math.max(...pick(a.network.sent, 'timestamp')) < person.world.time + hourMs)
})

t.test('a clock set hours ahead while an account is full is noticed before old history is deleted', async (t) => {
  const person = await people.person(t)
  const clock = settable(person)
  const a = person.device('a', { clock, types: ['bookmark', 'history'] })
  const dateVisited = '2026-01-01T00:00:00Z'
  await a.sync.history.put({ ...bookmark('h', 'visited'), dateVisited, source: 'history' })
  await sync(a)
  await a.sync.put(bookmark('x', 'new'))
  a.network.fate = async (call) => {
    if (changesOf(call).length === 0 || clock.skew > 0) return call.send()
    clock.skew = 6 * hourMs
    throw new ApiError(...QuotaExceeded)
  }
  await sync(a)
  t.same(await person.stored(), { x: 'new' })
  t.ok(Math.max(...pick(a.network.sent, 'timestamp')) < person.world.time + hourMs)
})

t.test('a clock set hours ahead after the very first edit is noticed before the next edit is sent', async (t) => {
  const person = await people.person(t)
  const clock = settable(person)
  const a = person.device('a', { clock })
  await online(person, a)
  await a.sync.put(bookmark('x', 'one'))
  await until(() => a.sync.status().waiting === 0)
  clock.skew = 6 * hourMs
  await a.sync.put(bookmark('y', 'two'))
  await until(() => a.sync.status().waiting === 0)
  t.same(await errorsOfTime(person, ['y']), [0])
})

t.test('a clock hours ahead is noticed before an edit is sent from a store that was just emptied', async (t) => {
  const person = await people.person(t)
  const clock = settable(person)
  const { store, arm } = emptiedAtWrite()
  const [a, b] = [person.device('a', { clock, store }), person.device('b')]
  await send(b, bookmark('x', 'original'), a)
  clock.skew = 6 * hourMs
  await a.sync.put(bookmark('x', 'by a'))
  a.network.fate = async ({ name, send }) => {
    const answer = await send()
    if (name === 'pull') arm()
    return answer
  }
  await sync(a)
  t.same(await errorsOfTime(person, ['x']), [0])
})

t.test('an edit that cannot be newer than a version from days ahead is reported, not sent forever', async (t) => {
  const { person, a, b } = await pair(t)
  await person.world.pass(48 * hourMs)
  await send(b, bookmark('x', "while the service's clock was ahead"), a)
  await person.world.pass(-48 * hourMs)
  await a.sync.put(bookmark('x', 'by a'))
  let pushes = 0
  a.network.fate = async ({ name, send }) => {
    if (name === 'push' && ++pushes > 20) throw new Error('the edit is sent forever')
    return send()
  }
  await sync(a)
  const kept = { title: "while the service's clock was ahead" }
  t.match(a.conflicts, [{ id: 'x', mine: { title: 'by a' }, theirs: kept }])
  t.match([a.sync.get('x'), a.sync.status()], [kept, { waiting: 0 }])
})

t.test('an answer that comes late does not shift the clock', async (t) => {
  const { person, a } = await pair(t)
  await a.sync.put(bookmark('x', 'one'))
  a.network.fate = async (call) => {
    const answer = await call.send()
    if (call.name === 'push') await person.world.pass(100_000)
    return answer
  }
  await sync(a)
  await send(a, bookmark('y', 'two'))
  t.same(await errorsOfTime(person, ['y']), [-100], 'the edit is as old as the late answer, and not older')
})

t.test('a late greeting of the channel does not shift the clock either', async (t) => {
  const { person, a } = await pair(t)
  await a.sync.start()
  await person.world.pass(1000)
  const openedAt = person.world.time
  await person.world.pass(15_000)
  a.network.socket?.greet(openedAt)
  await person.world.pass(1000)
  await a.sync.put(bookmark('y', 'two'))
  await person.world.pass(0)
  t.same(await errorsOfTime(person, ['y']), [0])
})

/** Two devices that both have x; the clock of `a` can be set. */
async function pair(t: Test) {
  const person = await people.person(t)
  const clock = settable(person)
  const [a, b] = [person.device('a', { clock }), person.device('b')]
  await send(b, bookmark('x', 'original'), a)
  return { person, clock, a, b }
}

/** A clock whose error can be set. */
function settable({ world }: Person): Clock & { skew: number } {
  const real = world.clock()
  const clock = { ...real, skew: 0, now: () => real.now() + clock.skew }
  return clock
}

/** A store that the next write after `arm` finds empty. */
function emptiedAtWrite() {
  const store = memoryStore()
  let isArmed = false
  const write: Store['write'] = async (rows, meta) => {
    if (!isArmed) return store.write(rows, meta)
    isArmed = false
    throw new StoreEmptiedError()
  }
  return {
    store: { ...store, write },
    arm() {
      isArmed = true
    },
  }
}

/** By how many seconds the newest changes of these bookmarks differ from the service's time. */
async function errorsOfTime({ user, world }: Person, ids: string[]): Promise<number[]> {
  const { changes } = await pullAll(user)
  return ids.map((id) => {
    const { timestamp = 0 } = changes.find(({ entity_id }) => entity_id === id) ?? {}
    return Math.round((timestamp - world.time) / 1000)
  })
}
