import t from 'tap'
import { ApiError, memoryStore, type Row, type Store } from '../../../src/client/index.ts'
import { blankRow } from '../../../src/client/sync/store/row.ts'
import { recountUser } from '../../../src/service/upkeep/recount.ts'
import { change, push } from '../../support/changes.ts'
import { backUp } from '../chaos/run.ts'
import { counted, settled } from './clock.ts'
import { bookmark, online, openPeople, type Person, remove, send, shown } from './device.ts'
import { type Fate, up } from './network.ts'

/** A store silently loses a record or keeps a deleted one: the digests differ, and the device repairs the store. */

const people = await openPeople()
const { db } = people.app.context.database
const hourMs = 3_600_000
const nothing = { missing: [], outdated: [], deleted: [], sent: [] }

t.test('a store with missing, deleted and outdated records is repaired, and the app gets a report', async (t) => {
  const person = await people.person(t)
  const other = person.device('other')
  await send(
    other,
    ['lost', 'old', 'kept', 'fine'].map((id) => bookmark(id, 'one')),
  )
  const store = memoryStore()
  await visit(person, store, 0)
  const before = new Map((await store.load()).rows.map((row) => [row.id, row]))
  await person.world.pass(1000)
  await other.sync.put(bookmark('old', 'two'))
  await remove(other, 'kept')
  await visit(person, store, 1)
  await damage(store, [blankRow('lost'), before.get('old') as Row, before.get('kept') as Row])

  const early = await visit(person, store, 2)
  t.same([early.asked, shown(early.device)], [0, { fine: 'one', kept: 'one', old: 'one' }], 'not yet due')
  const { device, told, asked, fromStart } = await visit(person, store, 7)
  t.same(told, [{ ...nothing, missing: ['lost'], outdated: ['old'], deleted: ['kept'] }])
  t.same(shown(device), { fine: 'one', lost: 'one', old: 'two' })
  t.same([device.conflicts, device.errors, await person.stored()], [[], [], shown(device)])
  t.same([asked, fromStart], [2, 1])
  const later = await visit(person, store, 14)
  t.same([later.told, later.asked, later.fromStart], [[], 1, 0], 'then nothing differs')
})

t.test('records that only the device has are sent again', async (t) => {
  const person = await people.person(t)
  const store = memoryStore()
  const first = person.device('a', { store })
  await send(first, [bookmark('x', 'one'), bookmark('y', 'one')])
  await first.sync.stop()
  const { userId } = person.user
  await db.deleteFrom('records').where('user_id', '=', userId).where('entity_id', '=', 'x').execute()
  await people.app.context.database.write((trx) => recountUser(trx, userId))
  const { told } = await visit(person, store, 7)
  t.same(told, [{ ...nothing, sent: ['x'] }])
  t.same(await person.stored(), { x: 'one', y: 'one' })
})

t.test('a restore of the service during a repair is reported as a restore', async (t) => {
  const person = await people.person(t)
  const putBack = await backUp(people.app, person.user.userId)
  const store = await synced(person)
  await send(person.device('other'), bookmark('y', 'one'))
  await visit(person, store, 0)
  await damage(store, [blankRow('y')])
  let pulls = 0
  const meanwhile: Fate = async (call) => {
    if (call.name === 'pull' && ++pulls === 3) await counted(putBack)
    return up(call)
  }
  const { told, device } = await visit(person, store, 7, meanwhile)
  t.same([told, device.restored, await person.stored()], [[], [{ kept: 1, pushed: 1 }], { x: 'one' }])
})

t.test('a record that a device cannot decrypt causes one repair, and none when other records change', async (t) => {
  const person = await people.person(t)
  const changes = [change({ entity_id: 'g', timestamp: person.world.time })]
  await push(person.user, ...changes)
  const store = memoryStore()
  const first = await visit(person, store, 0)
  t.same([first.told, first.fromStart], [[], 2], 'the first pull, and one for the digest')
  const other = person.device('other')
  await send(other, bookmark('y', 'one'))
  const second = await visit(person, store, 7)
  t.same([second.told, second.asked, second.fromStart], [[], 1, 0])
  t.same(shown(second.device), { y: 'one' })
})

t.test('a wrong digest causes one pull from 0, and no second one while it stays the same', async (t) => {
  const person = await people.person(t)
  const store = await synced(person)
  const stuck: Fate = async ({ name, send }) => (name === 'getStatus' ? { digest: 'c'.repeat(32) } : send())
  const first = await visit(person, store, 7, stuck)
  const other = person.device('other')
  await send(other, bookmark('y', 'one'))
  const second = await visit(person, store, 14, stuck)
  t.same([first.fromStart, second.fromStart, second.told], [1, 0, []])
})

t.test('changes by others during the comparison of digests do not count as a difference', async (t) => {
  const person = await people.person(t)
  const store = await synced(person)
  const other = person.device('other')
  let isWritten = false
  const meanwhile: Fate = async (call) => {
    if (call.name === 'getStatus' && !isWritten) {
      isWritten = true
      await send(other, bookmark('y', 'one'))
    }
    return up(call)
  }
  const { device, told, asked, fromStart } = await visit(person, store, 7, meanwhile)
  t.same([shown(device), told, asked, fromStart], [{ x: 'one', y: 'one' }, [], 2, 0])
})

t.test('devices sync with a service without a status, or with a missing or invalid digest', async (t) => {
  const person = await people.person(t)
  const store = await synced(person)
  const answers = [{ digest: null }, {}, { digest: 'unknown' }, { digest: 5 }, { digest: 'c'.repeat(31) }, undefined]
  const states = ['offline', 'connecting', 'polling', 'online', 'offline']
  for (const [index, answer] of answers.entries()) {
    const fate: Fate = async ({ name, send }) => {
      if (name !== 'getStatus') return send()
      if (!answer) throw new ApiError(501, 'There is no status')
      return answer
    }
    const { device, asked, fromStart } = await visit(person, store, 7 * (index + 1), fate)
    t.same([asked, fromStart, device.errors, device.states], [1, 0, [], states])
  }
})

/** A device's store with a bookmark that it has sent. */
async function synced(person: Person): Promise<Store> {
  const store = memoryStore()
  const device = person.device('a', { store })
  await send(device, bookmark('x', 'one'), device)
  await device.sync.stop()
  return store
}

/** The device is online for a while, at this hour on its clock. */
async function visit(person: Person, store: Store, hour: number, fate = up) {
  const device = person.device('a', { store, skew: hour * hourMs })
  let fromStart = 0
  device.network.fate = (call) => {
    if (call.name === 'pull' && (call.body as { since: number }).since === 0) fromStart++
    return fate(call)
  }
  await online(person, device)
  await person.world.pass(15_000)
  await settled()
  await device.sync.stop()
  return { device, told: device.mended, asked: device.network.count('getStatus'), fromStart }
}

/** Writes these rows into the store behind the device's back. */
async function damage(store: Store, rows: Row[]): Promise<void> {
  const { meta } = await store.load()
  if (meta) await store.write(rows, meta)
}
