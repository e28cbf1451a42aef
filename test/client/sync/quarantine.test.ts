import t, { type Test } from 'tap'
import { ApiError, OfflineError, UnsentChangesError } from '../../../src/client/errors.ts'
import { intercepted, Refusals } from '../../../src/client/sync/exchange/batch.ts'
import type { Change } from '../../../src/client/sync/exchange/transport.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { blankRow, isQuarantined } from '../../../src/client/sync/store/row.ts'
import type { Waiting } from '../../../src/client/sync/store/store.ts'
import { turns, until } from './clock.ts'
import { bookmark, type Device, numbered, openPeople, remove, send, shown, sync, update } from './device.ts'
import { type Call, changesOf, down, type Fate, refused, up } from './network.ts'
import { quickDisks } from './stores.ts'

/** A change that the service refuses does not block the others, until 100 in a row are refused. */

const people = await openPeople()
const malformed = new ApiError(400, 'body/changes/7/base must be integer')

for (const [where, makeDisk] of Object.entries(quickDisks)) {
  t.test(`a refused change, with a store ${where}`, async (t) => {
    t.test('is found in its batch and kept with the reason, also after a reload; all others are sent', async (t) => {
      const person = await people.person(t)
      const disk = makeDisk()
      const a = person.device('a', { store: disk(person.user.userId) })
      await a.sync.put(numbered(400))
      const refused = a.sync.get('b7')
      a.network.fate = refusing(malformed, ({ entity_id }) => entity_id === 'b7')
      await sync(a)
      t.equal(Object.keys(await person.stored()).length, 399)
      t.ok(a.network.count('push') <= 20, `${a.network.count('push')} pushes`)
      t.match(a.sync.status(), { waiting: 1, quarantined: 1 })
      t.match(a.errors, [{ id: 'b7', error: malformed }])
      await a.sync.stop()

      const again = person.device('a', { store: disk(person.user.userId) })
      await again.sync.start()
      await until(() => again.network.socket !== undefined)
      t.same(again.sync.quarantined(), [
        { id: 'b7', bookmark: refused, reason: 'refused', status: 400, message: malformed.message },
      ])
      t.equal(again.network.count('push'), 0, 'the device does not retry it')
      t.same(again.sync.get('b7'), refused)
    })

    for (const [what, act, title] of [
      ['is replaced by an edit of it, which is sent', ({ sync }) => sync.put(bookmark('b1', 'edited')), 'edited'],
      ['is sent again if the user retries it', ({ sync }) => sync.retryQuarantined('b1'), '1'],
    ] satisfies [string, (a: Device) => Promise<void>, string][]) {
      t.test(what, async (t) => {
        const { person, a } = await oneRefused(t)
        await act(a)
        t.same(a.sync.quarantined(), [])
        await sync(a)
        t.same(await person.stored(), { b0: '0', b1: title, b2: '2' })
        t.equal(a.sync.status().quarantined, undefined)
      })
    }

    t.test('is gone if the user drops it', async (t) => {
      const { person, a } = await oneRefused(t)
      await t.rejects(a.sync.signOut(), new UnsentChangesError(1))
      await a.sync.put(bookmark('b2', 'not refused'))
      await a.sync.dropQuarantined(['b1', 'b2', 'nothing'])
      const left = { b0: '0', b2: 'not refused' }
      t.same([shown(a), a.sync.quarantined(), a.sync.status().waiting], [left, [], 1])
      await sync(a)
      t.same(await person.stored(), left)
    })

    t.test('of a bookmark that may have arrived before is replaced by its delete', async (t) => {
      const { person, a } = await people.open(t, { a: { disk: makeDisk() } })
      await a.sync.put(bookmark('x', 'one'))
      a.network.fate = (call) => (call.name === 'push' ? down(call) : call.send())
      await t.rejects(a.sync.syncNow(), { name: 'OfflineError' })
      a.network.fate = refused
      await sync(a)
      t.match(a.sync.quarantined(), [{ id: 'x', reason: 'quota' }])
      a.network.fate = up
      await remove(a, 'x')
      t.same([await person.stored(), a.sync.status().waiting, a.sync.quarantined()], [{}, 0, []])
    })

    for (const [when, isMeanwhile] of [
      ['before', false],
      ['during', true],
    ] as const) {
      t.test(`of a bookmark edited ${when} the refusal does not bring it back once it is deleted`, async (t) => {
        const { person, a } = await people.open(t, { a: { disk: makeDisk() } })
        const late = await pushedLate(t, a)
        const edit = () => a.sync.put(bookmark('x', 'two'))
        if (!isMeanwhile) await edit()
        a.network.fate = async (call) => {
          if (call.name === 'push' && isMeanwhile) await edit()
          return refused(call)
        }
        await sync(a)
        a.network.fate = up
        await remove(a, 'x')
        await late.send()
        await sync(a)
        t.same([await person.stored(), shown(a)], [{}, {}])
      })
    }

    async function oneRefused(t: Parameters<typeof people.person>[0]) {
      const { person, a } = await people.open(t, { a: { disk: makeDisk() } })
      await a.sync.put(numbered(3))
      a.network.fate = refusing(malformed, ({ entity_id }) => entity_id === 'b1')
      await sync(a)
      t.match(a.sync.quarantined(), [{ id: 'b1' }])
      a.network.fate = up
      return { person, a }
    }
  })
}

t.test('an edit that was refused but stored, and is dropped while its event is opened, is shown again', async (t) => {
  const store = memoryStore()
  const { a } = await people.open(t, { a: { store } })
  const late = await pushedLate(t, a)
  a.network.fate = async (call) => {
    if (call.name !== 'push') return call.send()
    await late.send()
    throw malformed
  }
  await sync(a)
  const pull = a.network.hold('pull', 'answer')
  const pulled = a.sync.syncNow()
  await pull.reached
  const [{ promise, resolve }, { read }] = [Promise.withResolvers<void>(), store]
  store.read = (ids) => promise.then(() => read(ids))
  const dropped = a.sync.dropQuarantined('x')
  await turns()
  pull.release()
  await turns()
  resolve()
  await Promise.all([dropped, pulled])
  t.same([shown(a), a.sync.quarantined()], [{ x: 'one' }, []])
})

/** Puts bookmark x. Returns its push, which does not arrive until it is sent. */
async function pushedLate(t: Test, { sync, network }: Device): Promise<Call> {
  let late: Call | undefined
  network.fate = (call) => {
    if (call.name === 'push') late = call
    return call.name === 'push' ? down(call) : call.send()
  }
  await sync.put(bookmark('x', 'one'))
  await t.rejects(sync.syncNow(), { name: 'OfflineError' })
  return late as Call
}

t.test('beyond the quota, edits that fit are sent, the others wait for room, with few requests', async (t) => {
  const { person, a } = await people.open(t)
  const full = new ApiError(413, 'Storage quota exceeded')
  const room = { records: 300 }
  a.network.fate = async (call) => {
    const created = changesOf(call).filter(({ operation }) => operation === 'create').length
    if (created > room.records) throw full
    const answer = await call.send()
    room.records -= created
    return answer
  }
  await send(a, numbered(700))
  t.equal(Object.keys(await person.stored()).length, 300)
  t.match(a.sync.status(), { waiting: 400, quarantined: 400 })
  t.ok(a.network.count('push') <= 30, `${a.network.count('push')} pushes`)
  await a.sync.remove(['b0', 'b699'])
  await a.sync.put(bookmark('b1', 'edited'))
  await a.sync.start()
  await until(() => a.sync.status().waiting === 399 && a.network.socket !== undefined)
  t.match(await person.stored(), { b1: 'edited' }, 'deletes and edits go on')

  room.records = 5000
  await sync(a)
  t.same(a.sync.status().waiting, 0)
  t.equal(Object.keys(await person.stored()).length, 698)
})

t.test('an edit that adds no bytes is sent although another one exceeds the quota', async (t) => {
  const { person, a } = await people.open(t)
  const long = 'long '.repeat(200)
  await send(a, [bookmark('x', 'one'), bookmark('y', 'one', { description: long })])
  a.network.fate = refusing(new ApiError(413, 'Storage quota exceeded'), ({ entity_id }) => entity_id === 'x')
  await a.sync.update('x', { description: long.slice(0, 500) })
  await update(a, 'y', { title: 'two' })
  t.same(await person.stored(), { x: 'one', y: 'two' })
  t.match(a.sync.quarantined(), [{ id: 'x', reason: 'quota' }])
})

t.test('a change that is too large for a proxy does not block others, even if the account is full', async (t) => {
  const { person, a } = await people.open(t)
  await a.sync.put(numbered(3))
  a.network.fate = refusing(new ApiError(413, 'Request Entity Too Large'), ({ entity_id }) => entity_id === 'b0')
  await sync(a)
  t.same(await person.stored(), { b1: '1', b2: '2' })
  t.match(a.sync.quarantined(), [{ id: 'b0', reason: 'refused' }])
})

t.test('a 5xx answer to a push is not a refusal, and the push is retried', async (t) => {
  for (const status of [403, 404, 409, 429, 500, 502, 503, 507]) {
    const { person, a } = await people.open(t)
    const trouble = new ApiError(status, 'Service unavailable')
    await a.sync.put(numbered(2))
    a.network.fate = refusing(trouble, () => true)
    await t.rejects(a.sync.syncNow(), trouble)
    t.same([a.sync.status().waiting, a.sync.quarantined()], [2, []])
    a.network.fate = up
    await sync(a)
    t.same(await person.stored(), { b0: '0', b1: '1' })
  }
})

t.test('a service that refuses everything does not get a request for each change', async (t) => {
  const { person, a } = await people.open(t)
  a.network.fate = refusing(malformed, () => true)
  await a.sync.put(numbered(300))
  await t.rejects(a.sync.syncNow(), malformed)
  t.ok(a.network.count('push') <= 250, `${a.network.count('push')} pushes`)
  await a.sync.start()
  // The device may pause before its first exchange, so time passes until its socket is open.
  while (a.network.socket === undefined) await person.world.pass(60_000)
  const before = a.network.count('push')
  await person.world.pass(600_000)
  t.equal(a.network.count('push'), before, 'the device does not retry them')
  t.match(a.sync.status(), { waiting: 300, quarantined: 200 }, '100 were refused at the call, and 100 at the start')
  a.network.fate = up
  await a.sync.retryQuarantined()
  await sync(a)
  t.equal(Object.keys(await person.stored()).length, 300)
})

/** The service refuses each whole push that contains such a change. */
function refusing(error: ApiError, isBad: (change: Change) => boolean): Fate {
  return (call) => {
    if (changesOf(call).some(isBad)) return Promise.reject(error)
    return call.send()
  }
}

t.test('explain says why edits wait and how exchanges ended, without contents and ids', async (t) => {
  const { a } = await people.open(t)
  await a.sync.put(bookmark('sent-id', 'Secret title'))
  await a.sync.syncNow()
  a.network.fate = down
  await a.sync.put([bookmark('one-id', 'Secret title'), bookmark('two-id', 'Secret title')])
  await t.rejects(a.sync.syncNow(), { name: 'OfflineError' })
  const explained = await a.sync.explain()
  t.match(explained, {
    ...{ status: { state: 'offline', reason: 'network', waiting: 2 }, bookmarks: 3, unreadable: 0, held: 0 },
    ...{ waiting: [{ why: 'not-sent', count: 2 }], isStopped: false },
    exchanges: [
      { kind: 'exchange', outcome: 'done' },
      { kind: 'exchange', outcome: 'OfflineError' },
    ],
  })
  t.equal(explained.waiting.length, 1)
  t.notMatch(JSON.stringify(explained), /Secret|-id|example/)
})

t.test('an edit after a refused one is not quarantined with it', async (t) => {
  const { change, ...rest } = { change: { id: 'a' }, bookmark: null, sent: true }
  const refused = { change, ...rest, refusal: intercepted() } as unknown as Waiting
  const later = { change, ...rest } as unknown as Waiting
  t.notOk(isQuarantined({ ...blankRow('x'), waiting: [refused, later] }))
  t.ok(isQuarantined({ ...blankRow('x'), waiting: [later, refused] }))
})

t.test('the tenth push in a row that something intercepts ends the exchange', async (t) => {
  const refusals = new Refusals()
  const intercept = (times: number) => {
    for (let time = 0; time < times; time++) refusals.addIntercepted(new OfflineError())
  }
  intercept(9)
  refusals.reset()
  intercept(9)
  t.throws(() => intercept(1), { name: 'OfflineError' })
})
