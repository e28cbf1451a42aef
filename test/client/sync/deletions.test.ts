import t, { type Test } from 'tap'
import * as deferred from '../../../src/client/sync/deferred.ts'
import { listChangePage } from '../../../src/service/db/tables/changes.ts'
import { toSyncEvent } from '../../../src/service/sync/event.ts'
import { pick } from '../../support/pick.ts'
import { turns, until } from './clock.ts'
import {
  bookmark,
  type Device,
  numbered,
  online,
  openPeople,
  type Person,
  remove,
  send,
  shown,
  sync,
} from './device.ts'
import { down, refused } from './network.ts'
import { quickDisks } from './stores.ts'

const people = await openPeople()

for (const [where, makeDisk] of Object.entries(quickDisks)) {
  t.test(`deletes of other devices, with a store ${where}`, async (t) => {
    /** Two devices with this many bookmarks. */
    async function pair(t: Test, count: number) {
      const person = await people.person(t)
      const disk = makeDisk()
      const open = () => person.device('b', { store: disk(person.user.userId) })
      const [a, b] = [person.device('a'), open()]
      await send(a, numbered(count), b)
      return { person, a, b, open }
    }

    t.test('up to five deletes, or a fifth of all, are applied without a question', async (t) => {
      const { a, b } = await pair(t, 30)
      await remove(a, ids(0, 6), b)
      t.equal(b.sync.bookmarks().size, 24)

      const { a: c, b: d } = await pair(t, 5)
      await remove(c, ids(0, 5), d)
      t.equal(d.sync.bookmarks().size, 0)
      t.same([b.sync.status().heldDeletions, d.sync.status().heldDeletions], [undefined, undefined])
    })

    t.test('more deletes wait for approval, also after a reload, while other changes are applied', async (t) => {
      const { person, a, b, open } = await pair(t, 30)
      await a.sync.remove(ids(0, 7))
      await send(a, bookmark('new', 'new'), b)
      t.match(b.sync.status(), { state: 'polling', reason: 'deletions', heldDeletions: { count: 7, of: 31 } })
      t.equal(b.sync.bookmarks().size, 31)
      await b.sync.stop()

      const again = open()
      await online(person, again)
      t.match(again.sync.status(), { reason: 'deletions', heldDeletions: { count: 7, of: 31 } })
      await again.sync.put(bookmark('mine', 'mine'))
      await until(() => again.sync.status().waiting === 0)
      t.ok('mine' in (await person.stored()), 'local edits are sent')
      await again.sync.approveDeletions(7)
      t.equal(again.sync.bookmarks().size, 25)
      t.equal(again.sync.status().reason, undefined)
      t.equal(again.sync.status().heldDeletions, undefined)
      t.same(again.conflicts, [])
    })

    t.test('an approval covers only the deletes that were shown; later ones wait for another one', async (t) => {
      const { a, b, open } = await pair(t, 30)
      await remove(a, ids(20, 28), b)
      t.match(b.sync.status(), { heldDeletions: { count: 8, of: 30 } })
      const shownIds = b.sync.heldDeletions().map(({ id }) => id)
      t.same(shownIds.toSorted(), ids(20, 28).toSorted())
      await remove(a, ids(0, 8), b)
      await b.sync.stop()
      const again = open()
      again.network.fate = down
      await again.sync.start()
      t.match(again.sync.status(), { heldDeletions: { count: 16, of: 30 } })
      await again.sync.approveDeletions(shownIds.slice(0, 3))
      await again.sync.approveDeletions(5)
      const gone = numbered(30).filter(({ id }) => !again.sync.get(id))
      t.same(gone, numbered(30).slice(20, 28))
      t.match(again.sync.status(), { heldDeletions: { count: 8, of: 22 } })
      for (const none of [undefined, Number.NaN, -1]) {
        await t.rejects(again.sync.approveDeletions(none as unknown as number), RangeError)
      }
      t.equal(again.sync.bookmarks().size, 22)
    })

    t.test('a rejection restores the bookmarks on all devices', async (t) => {
      const { person, a, b } = await pair(t, 10)
      const before = shown(b)
      await remove(a, ids(0, 10), b)
      t.match(b.sync.status(), { heldDeletions: { count: 10, of: 10 } })
      await b.sync.rejectDeletions()
      t.same(b.sync.status().heldDeletions, undefined)
      await sync(b, a)
      t.same([shown(a), shown(b), await person.stored()], [before, before, before])
      t.same([a.conflicts, b.conflicts], [[], []], 'the delete was seen')
    })

    t.test('if a device rejects held deletes and another deletes one of them, the loser gets a conflict', async (t) => {
      const { person, a, b } = await pair(t, 10)
      const c = person.device('c')
      await sync(c)
      await remove(a, ids(0, 10), b, c)
      await b.sync.rejectDeletions()
      await person.world.pass(120_000)
      await c.sync.remove('b0')
      await sync(b, c, b, a)
      t.same(
        [a, b].map((one) => Object.keys(shown(one)).length),
        [9, 9],
      )
      t.match(b.conflicts, [{ id: 'b0', fields: [], mine: { id: 'b0' }, theirs: null }])
      t.same([a.conflicts, c.conflicts], [[], []])
    })

    t.test('a bookmark that exists again under another id is kept, and a rejection does not double it', async (t) => {
      const { a, b } = await pair(t, 30)
      const remade = numbered(12).map((one) => ({ ...one, id: `new-${one.id}` }))
      const titles = ({ sync }: Device) => pick([...sync.bookmarks().values()], 'title').toSorted()
      const before = titles(b)
      await remove(a, ids(0, 12), b)
      await send(a, remade.slice(0, 3), b)
      t.match(b.sync.status(), { heldDeletions: { count: 12 } }, 'nine deletes are too many')
      await b.sync.rejectDeletions()
      await sync(b, a)
      t.same([titles(a), titles(b)], [before, before])

      await remove(a, ids(18, 30), b)
      t.match(b.sync.status(), { heldDeletions: { count: 12 } })
      await a.sync.put(
        numbered(30)
          .slice(18)
          .map((one) => ({ ...one, id: `new-${one.id}` })),
      )
      await sync(a, b)
      t.equal(b.sync.status().heldDeletions, undefined, 'once all exist again, nothing is asked')
      t.same([titles(a), titles(b)], [before, before])
    })

    t.test('an equal bookmark in another folder is not taken for the deleted one, even if just made', async (t) => {
      const { person, a, b } = await pair(t, 12)
      const twins = numbered(12).map((one) => ({ ...one, id: `later-${one.id}`, parentId: 'other' }))
      await send(a, twins, b)
      const all = shown(b)
      await remove(a, pick(twins, 'id'), b)
      t.match(b.sync.status(), { heldDeletions: { count: 12 } })
      await b.sync.rejectDeletions()
      await sync(b, a)
      t.same([shown(a), shown(b)], [all, all], 'made a moment earlier')

      await person.world.pass(61_000)
      await remove(a, ids(0, 12), b)
      t.match(b.sync.status(), { heldDeletions: { count: 12 } })
      for (const { id } of twins) await a.sync.update(id, { tags: ['edited'] })
      await sync(a, b)
      t.match(b.sync.status(), { heldDeletions: { count: 12 } })
      await b.sync.rejectDeletions()
      await sync(b, a)
      t.same([shown(a), shown(b)], [all, all], 'edited since')
    })

    t.test('a newer version of a bookmark replaces its held delete', async (t) => {
      const { a, b } = await pair(t, 10)
      await remove(a, ids(0, 8), b)
      await send(
        a,
        numbered(4).map((one) => ({ ...one, title: 'back' })),
        b,
      )
      t.equal(b.sync.status().heldDeletions, undefined, 'four deletes are few')
      t.same([shown(a), shown(b)], [shown(a), shown(a)])
    })

    t.test('editing a bookmark whose delete is held keeps it, and the deleting device gets a conflict', async (t) => {
      const { a, b } = await pair(t, 10)
      await remove(a, ids(0, 8), b)
      await b.sync.put({ ...numbered(1)[0], title: 'kept' } as ReturnType<typeof bookmark>)
      t.match(b.sync.status(), { heldDeletions: { count: 7 } })
      await b.sync.approveDeletions(7)
      await sync(b, a)
      t.same([shown(a), shown(b)], [shown(b), { b0: 'kept', b8: '8', b9: '9' }])
      t.match(a.conflicts, [{ id: 'b0', mine: null, theirs: { title: 'kept' } }])
    })
  })
}

t.test('an approval by number is for the deletes at the call, even if one of those is edited meanwhile', async (t) => {
  const person = await people.person(t)
  const loadDeferred = async () => {
    await turns(20)
    return deferred
  }
  const [a, b] = [person.device('a'), person.device('b', { loadDeferred })]
  await send(a, numbered(20), b)
  for (const [from, to] of [
    [0, 8],
    [8, 10],
  ] as const) {
    await remove(a, ids(from, to), b)
  }
  t.match(b.sync.status(), { heldDeletions: { count: 10 } })
  await Promise.all([b.sync.update('b3', { title: 'kept' }), b.sync.approveDeletions(8)])
  const kept = numbered(20).filter(({ id }) => b.sync.get(id))
  t.same(pick(kept, 'id'), ['b3', ...ids(8, 20)])
})

t.test('a delete that arrives during a rejection is held for a decision', async (t) => {
  const person = await people.person(t)
  const rejectDeletions: typeof deferred.rejectDeletions = async (parts) => {
    const { replica } = parts
    const commit = replica.commit.bind(replica)
    // The rejection is prepared. Before it takes effect, an exchange brings one more delete.
    replica.commit = async (...args) => {
      replica.commit = commit
      await remove(a, ['b19'], b)
      return commit(...args)
    }
    await deferred.rejectDeletions(parts)
  }
  const [a, b] = [
    person.device('a'),
    person.device('b', { loadDeferred: async () => ({ ...deferred, rejectDeletions }) }),
  ]
  await send(a, numbered(20), b)
  await remove(a, ids(0, 10), b)
  await b.sync.rejectDeletions()
  t.match(b.sync.status(), { heldDeletions: { count: 1 } })
  await b.sync.approveDeletions(1)
  await sync(b, a)
  t.same([shown(a), shown(b)], [shown(b), shown(a)])
  t.equal(b.sync.bookmarks().size, 19)
})

t.test('deletes on the realtime channel within a minute are counted together', async (t) => {
  const { person, a, b } = await people.open(t)
  await send(a, numbered(20))
  await online(person, b)
  const before = shown(b)
  for (const [from, to] of [
    [0, 3],
    [3, 5],
    [5, 8],
  ] as const) {
    await remove(a, ids(from, to))
    await deliver(person, b)
  }
  // Deletes of the last minute count, even those that were applied while they were few.
  t.match(b.sync.status(), { state: 'online', reason: 'deletions', heldDeletions: { count: 8, of: 20 } })
  await b.sync.rejectDeletions()
  await sync(b, a)
  t.same([shown(a), shown(b)], [before, before], 'a rejection restores all of them')
  await remove(a, ids(0, 3))
  await deliver(person, b)
  t.match(b.sync.status(), { heldDeletions: { count: 3, of: 20 } }, 'after a rejection, further deletes are held, too')
  await remove(a, ids(3, 8))
  await deliver(person, b)
  await b.sync.approveDeletions(8)
  await person.world.pass(61_000)
  await remove(a, ids(8, 10), b)
  t.equal(b.sync.bookmarks().size, 10, 'a minute later, two deletes are applied')
})

t.test('a bookmark that the user made again is not held, even if the service refuses it', async (t) => {
  const { person, a, b } = await people.open(t)
  await send(a, numbered(20))
  await online(person, b)
  await remove(a, ids(0, 3))
  await deliver(person, b)
  b.network.fate = refused
  await b.sync.put(bookmark('b0', 'again'))
  await remove(a, ids(3, 8))
  await deliver(person, b)
  t.match(b.sync.status(), { waiting: 1, heldDeletions: { count: 7, of: 20 } })
  t.equal(b.sync.get('b0')?.title, 'again')
})

/** Sends other devices' new changes over the channel, one message each, without `previous_stamp`. */
async function deliver({ user }: Person, { network, id }: Device): Promise<void> {
  const { socket } = network
  if (!socket) throw new Error('no channel')
  const limits = { rows: 1000, bytes: 1e6 }
  const rows = await listChangePage(people.app.context.database.db, user.userId, socket.cursor, limits)
  for (const row of rows) {
    socket.cursor = row.sequence
    if (row.device_id === id) continue
    socket.say({ type: 'sync', event: toSyncEvent(row), stamp: row.sequence })
    await turns()
  }
}

function ids(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, index) => `b${from + index}`)
}
