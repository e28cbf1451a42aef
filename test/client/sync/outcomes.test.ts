import t from 'tap'
import { OfflineError, RecordError, SignedOutError, StorageFullError } from '../../../src/client/errors.ts'
import type { PullResponse } from '../../../src/client/sync/exchange/transport.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import { pullAll } from '../../support/changes.ts'
import { until } from './clock.ts'
import { bookmark, online, openPeople, type Person, remove, send, shown, sync } from './device.ts'
import { answerLost, changesOf, down, type Fate, failing, up } from './network.ts'
import { quickDisks } from './stores.ts'

const people = await openPeople()
const hourMs = 3_600_000

for (const [where, makeDisk] of Object.entries(quickDisks)) {
  t.test(`A device whose store is ${where}`, async (t) => {
    t.test('a tampered record is reported with its id and skipped, and the sync goes on', async (t) => {
      const { a, b } = await people.open(t, { b: { disk: makeDisk() } })
      await send(a, [bookmark('x', 'one'), bookmark('y', 'two'), bookmark('z', 'three')])
      b.network.fate = damaging('y')
      await sync(b)
      t.match(b.errors, [{ id: 'y', error: { name: 'RecordError', fault: 'altered' } }])
      t.ok(b.errors[0]?.error instanceof RecordError)
      t.same(shown(b), { x: 'one', z: 'three' })
      await sync(b)
      t.equal(b.errors.length, 1, 'once')

      b.network.fate = up
      await send(a, [bookmark('y', 'two again'), bookmark('x', 'four')], b)
      t.same(shown(b), { x: 'four', y: 'two again', z: 'three' }, 'later versions of it are accepted')
    })

    t.test('an edit wins over a newest version that cannot be decrypted', async (t) => {
      const { person, a } = await people.open(t)
      const b = person.device('b', { skew: -5 * hourMs, disk: makeDisk() })
      await send(a, bookmark('x', 'one'), b)
      await person.world.pass(1000)
      await send(a, bookmark('x', 'two'))
      b.network.fate = damaging('x')
      await sync(b)
      t.same(shown(b), { x: 'one' }, 'what opened stays')
      b.network.fate = up
      await send(b, bookmark('x', 'three'), a)
      t.same(await person.stored(), { x: 'three' })
      const told = { mine: { title: 'two' }, theirs: { title: 'three' } }
      t.match(a.conflicts, [told], 'the overwritten device gets a conflict')
    })

    t.test('an edit also wins if another version that cannot be decrypted arrives meanwhile', async (t) => {
      const { person, a, b } = await people.open(t, { b: { disk: makeDisk() } })
      await send(a, bookmark('x', 'one'), b)
      await send(a, bookmark('x', 'two'))
      await a.sync.put(bookmark('x', 'between'))
      await person.world.pass(1000)
      await b.sync.put(bookmark('x', 'three'))
      let pushes = 0
      b.network.fate = async (call) => {
        if (changesOf(call).length > 0 && ++pushes === 2) await sync(a)
        return damaging('x')(call)
      }
      await sync(b)
      t.same(await person.stored(), { x: 'three' })
    })

    t.test('the delete of a bookmark made over a version that cannot be decrypted is sent', async (t) => {
      const { person, a, b } = await people.open(t, { b: { disk: makeDisk() } })
      await send(a, bookmark('x', 'one'))
      b.network.fate = damaging('x')
      await sync(b)
      b.network.fate = up
      await b.sync.put(bookmark('x', 'two'))
      await remove(b, 'x', a)
      t.same([await person.stored(), shown(a)], [{}, {}])
    })

    t.test('an edit older than a version that cannot be decrypted loses to it, and becomes a conflict', async (t) => {
      const { person, a, b } = await people.open(t, { b: { disk: makeDisk() } })
      await send(a, bookmark('x', 'one'), b)
      await b.sync.put(bookmark('x', "b's"))
      await person.world.pass(1000)
      await send(a, bookmark('x', "a's, later"))
      b.network.fate = damaging('x')
      await sync(b)
      t.match(b.sync.conflicts(), [{ id: 'x', mine: { title: "b's" } }])
      t.same([b.sync.status().waiting, await person.stored()], [0, { x: "a's, later" }])
    })

    t.test('records of other types by other clients are skipped without an error', async (t) => {
      const { a, b } = await people.open(t, { b: { disk: makeDisk() } })
      await send(a, bookmark('x', 'one'))
      b.network.fate = altering('x', () => ({ entity_type: 'history' }))
      await sync(b)
      t.same([shown(b), b.errors], [{}, []])
    })

    t.test('a version older than the known one is reported with its id, and nothing is lost', async (t) => {
      const { a, b } = await people.open(t, { b: { disk: makeDisk() } })
      await send(a, bookmark('x', 'old'), b)
      const changes = b.network.pages[0]?.changes ?? []
      await send(a, bookmark('x', 'new'), b)
      const newest = b.sync.get('x')
      b.network.fate = async (call) => {
        const answer = await call.send()
        return call.name === 'pull' ? { ...(answer as PullResponse), changes } : answer
      }
      await sync(b)
      t.match(b.errors, [{ id: 'x', error: { name: 'RollbackError', id: 'x' } }])
      t.same(b.sync.get('x'), newest)
      b.network.fate = up
      await send(a, bookmark('x', 'newest'), b)
      t.same(shown(b), { x: 'newest' }, 'the sync goes on')
    })

    t.test('without disk space, StorageFullError is reported, and the queue is kept until there is room', async (t) => {
      const person = await people.person(t)
      const disk = new Disk(makeDisk()(person.user.userId))
      const [a, b] = [person.device('a'), person.device('b', { store: disk.store })]
      await b.sync.put(bookmark('x', 'queued'))
      await send(a, bookmark('y', 'theirs'))
      disk.isFull = true
      await t.rejects(b.sync.put(bookmark('z', 'no room')), StorageFullError)
      t.same(shown(b), { x: 'queued' }, 'an edit that was not stored is not shown')
      await b.sync.start()
      await until(() => b.errors.length > 0)
      t.ok(b.errors[0]?.error instanceof StorageFullError)
      t.match(b.sync.status(), { state: 'offline', reason: 'storage', waiting: 1 })
      disk.isFull = false
      await person.world.pass(60_000)
      await until(() => b.sync.status().waiting === 0)
      t.same(shown(b), { x: 'queued', y: 'theirs' })
      t.equal(b.sync.status().reason, undefined)
      t.same(await person.stored(), { x: 'queued', y: 'theirs' })
    })

    for (const hours of [-20, 20]) {
      t.test(`with a clock ${hours} h off, an edit still wins over the version that it is based on`, async (t) => {
        const person = await people.person(t)
        const good = person.device('good')
        const off = person.device('off', { skew: hours * hourMs, disk: makeDisk() })
        for (const round of ['one', 'two', 'three']) {
          await send(good, bookmark('x', `good ${round}`), off)
          await off.sync.put(bookmark('x', `off ${round}`))
          await sync(off, good)
          t.same([shown(good), shown(off)], [{ x: `off ${round}` }, { x: `off ${round}` }])
          await person.world.pass(1000)
        }
        t.same([good.conflicts, off.conflicts, good.errors, off.errors], [[], [], [], []])
        await send(off, bookmark('y', 'fresh'))
        const { timestamp = 0 } = (await changeOf(person, 'y')) ?? {}
        t.ok(Math.abs(timestamp - person.world.time) < 1000, 'the device has learned the time from the service')
      })
    }

    t.test('with a clock two days ahead, an edit made before the first contact still arrives', async (t) => {
      const person = await people.person(t)
      const off = person.device('off', { skew: 48 * hourMs, disk: makeDisk() })
      await send(off, bookmark('x', 'from the future'))
      t.same(await person.stored(), { x: 'from the future' })
      t.match([off.conflicts, off.errors, off.sync.status()], [[], [], { waiting: 0 }])
    })

    t.test('a push whose answer was lost is sent again after a restart, and nothing is duplicated', async (t) => {
      const disk = makeDisk()
      const { person, a } = await people.open(t, { a: { disk } })
      await a.sync.put([bookmark('x', 'one'), bookmark('y', 'two')])
      a.network.fate = (call) => (call.name === 'push' ? answerLost(call) : up(call))
      await t.rejects(a.sync.syncNow(), OfflineError)
      t.same(await person.stored(), { x: 'one', y: 'two' }, 'the service has the push')
      t.equal(a.sync.status().waiting, 2, 'the device does not know that they arrived')
      await a.sync.stop()

      const again = person.device('a', { disk })
      await again.sync.put(bookmark('y', 'three'))
      const before = await changeOf(person, 'x')
      await sync(again)
      t.same(await person.stored(), { x: 'one', y: 'three' })
      t.same([again.conflicts, again.errors, again.sync.status().waiting], [[], [], 0])
      t.same(await changeOf(person, 'x'), before, 'x was not written a second time')
    })

    t.test('if the session ends during a sync, the queue is kept and sent after the next sign-in', async (t) => {
      const disk = makeDisk()
      const { person, a } = await people.open(t, { a: { disk } })
      await a.sync.put(bookmark('x', 'unsent'))
      const ended = failing(new SignedOutError())
      a.network.fate = (call) => (call.name === 'push' ? ended(call) : up(call))
      await a.sync.start()
      await until(() => a.sync.status().state === 'signed-out')
      t.equal(a.sync.status().waiting, 1)
      const calls = a.network.calls.length
      await person.world.pass(600_000)
      t.equal(a.network.calls.length, calls, 'nothing is tried until the next sign-in')
      await t.rejects(a.sync.syncNow(), SignedOutError)
      await a.sync.stop()

      const again = person.device('a', { disk })
      await again.sync.start()
      await until(() => again.sync.status().waiting === 0)
      t.same(await person.stored(), { x: 'unsent' })
      a.network.fate = up
    })

    t.test('if user A has unsent edits when B signs in, no data of A leaves the device', async (t) => {
      const [ann, ben] = [await people.person(t), await people.person(t)]
      const disk = makeDisk()
      const a = ann.device('shared', { disk })
      a.network.fate = down
      await a.sync.put(bookmark('secret', "Ann's"))
      await t.rejects(a.sync.syncNow(), OfflineError)

      a.network.fate = up
      const sent = a.network.calls.length
      a.network.signIn(ben.user)
      await a.sync.start()
      await until(() => a.sync.status().state === 'signed-out')
      t.same(a.errors, [{ error: new SignedOutError(true) }], 'unlike the end of a session')
      await t.rejects(a.sync.syncNow(), SignedOutError)
      t.same(new Set(a.network.calls.slice(sent)), new Set(['pull']), 'the device only pulls')
      t.equal(a.sync.status().waiting, 1)

      const b = ben.device('shared', { disk })
      await b.sync.start()
      await b.sync.put(bookmark('open', "Ben's"))
      await until(() => b.sync.status().waiting === 0)
      t.same(shown(b), { open: "Ben's" })
      t.same(await ben.stored(), { open: "Ben's" })
      t.same(await ann.stored(), {})
    })

    for (const hasBookmarks of [false, true]) {
      const owning = hasBookmarks ? 'with bookmarks' : 'without bookmarks'
      t.test(`user B, ${owning}, signs in while A's app is online: A's next edit waits for A`, async (t) => {
        const [ann, ben] = [await people.person(t), await people.person(t)]
        const a = ann.device('shared', { store: makeDisk()(ann.user.userId) })
        await a.sync.put(bookmark('x', "Ann's"))
        await online(ann, a)

        await ben.world.pass(1000)
        const b = ben.device('elsewhere')
        if (hasBookmarks) await b.sync.put(bookmark('open', "Ben's"))
        await sync(b)
        a.network.signIn(ben.user)
        await a.sync.put(bookmark('secret', "Ann's"))
        await until(() => a.sync.status().state === 'signed-out')
        for (const { id } of a.errors) t.equal(id, undefined, 'no record of Ben was accepted')
        t.same(await ben.stored(), hasBookmarks ? { open: "Ben's" } : {})
        a.network.signIn(ann.user)
        await sync(a)
        t.same([shown(a), await ann.stored(), a.conflicts], [...Array(2).fill({ secret: "Ann's", x: "Ann's" }), []])
      })
    }

    t.test("another user's store is not opened", async (t) => {
      const [ann, ben] = [await people.person(t), await people.person(t)]
      const disk = makeDisk()
      const a = ann.device('shared', { disk })
      await a.sync.put(bookmark('secret', "Ann's"))
      await a.sync.stop()
      const mistaken = ben.device('shared', { store: disk(ann.user.userId) })
      await t.rejects(mistaken.sync.start(), /another user's/)
      t.same(mistaken.network.calls, [])
      t.same(shown(mistaken), {})
    })

    t.test('an edit made while a pull is running is not overwritten', async (t) => {
      const { person, a, b } = await people.open(t, { b: { disk: makeDisk() } })
      await send(a, bookmark('x', 'theirs'))
      await person.world.pass(1000)
      const page = b.network.hold('pull', 'answer')
      const syncing = b.sync.syncNow()
      await page.reached
      await b.sync.put(bookmark('x', 'mine'))
      page.release()
      await syncing
      await sync(a)
      t.same([shown(a), shown(b), await person.stored()], [{ x: 'mine' }, { x: 'mine' }, { x: 'mine' }])
      t.match([a.conflicts, b.conflicts], [[{ mine: { title: 'theirs' }, theirs: { title: 'mine' } }], []])
    })

    t.test('a reload keeps the bookmarks, the queue and the place in the changes', async (t) => {
      const person = await people.person(t)
      const disk = makeDisk()
      const other = person.device('other')
      await send(other, [bookmark('x', 'one'), bookmark('y', 'two')])
      const a = person.device('a', { disk })
      await sync(a)
      await a.sync.put([bookmark('x', 'edited'), bookmark('z', 'new')])
      await a.sync.remove('y')
      const status = a.sync.status()
      await a.sync.stop()

      const again = person.device('a', { disk })
      again.network.fate = down
      await again.sync.start()
      t.same(shown(again), { x: 'edited', z: 'new' })
      t.match(again.sync.status(), { waiting: 3, lastSync: status.lastSync })
      again.network.fate = up
      await sync(again)
      t.same(again.network.pages[0]?.changes, [], 'pulled changes are not pulled again')
      t.same(await person.stored(), { x: 'edited', z: 'new' })
    })
  })
}

/** Changes one bookmark's event in every page that is pulled. */
function altering(id: string, change: (event: PullResponse['changes'][number]) => object): Fate {
  return async (call) => {
    const answer = await call.send()
    if (call.name !== 'pull') return answer
    const page = answer as PullResponse
    const changes = page.changes.map((event) => (event.entity_id === id ? { ...event, ...change(event) } : event))
    return { ...page, changes }
  }
}

/** The newest change of a bookmark. */
async function changeOf({ user }: Person, id: string) {
  return (await pullAll(user)).changes.find(({ entity_id }) => entity_id === id)
}

function damaging(id: string): Fate {
  return altering(id, ({ encrypted_data = '' }) => {
    const bytes = Buffer.from(encrypted_data, 'base64')
    bytes.writeUInt8(bytes.readUInt8(40) ^ 1, 40)
    return { encrypted_data: bytes.toString('base64') }
  })
}

/** A store that can be full. */
class Disk {
  isFull = false
  readonly store: Store

  constructor(store: Store) {
    this.store = {
      ...store,
      write: async (rows, meta) => {
        if (this.isFull) throw new StorageFullError()
        await store.write(rows, meta)
      },
    }
  }
}
