/** What an edit replaces without its maker having seen it is told to somebody. */
import t from 'tap'
import { OfflineError } from '../../../src/client/errors.ts'
import { bookmark, type Device } from './device.ts'
import { type Call, down, type Fate, up } from './network.ts'
import { openPeople, shown } from './person.ts'

const people = await openPeople()
const noPush: Fate = (call: Call) => (call.name === 'push' ? down(call) : up(call))

t.test('of two edits on top of what another device has deleted, the one that is sent first tells it', async (t) => {
  const person = await people.person(t)
  const [a, b] = [person.device('a'), person.device('b')]
  await a.sync.put(bookmark('x', 'original'))
  await sync(a, b)
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
  for (let attempt = 0; attempt < 2; attempt++) await t.rejects(a.sync.syncNow(), OfflineError)
  a.network.fate = up
  await sync(a, b)
  t.same([shown(a), shown(b)], [{ x: 'second' }, { x: 'second' }])
  t.match(b.sync.conflicts(), [{ id: 'x', fields: [], mine: null, theirs: { title: 'second' } }])
})

t.test('what a device has forgotten when its user signed out, and then replaces, is told there', async (t) => {
  const person = await people.person(t)
  const [a, b] = [person.device('a'), person.device('b')]
  await b.sync.put(bookmark('x', "b's", { description: "b's" }))
  await sync(b, a)
  await a.sync.update('x', { title: "a's" })
  await sync(a)
  await person.world.pass(1000)
  const again = person.device('a')
  await again.sync.put(bookmark('x', 'put before the first pull'))
  await sync(again, b)
  t.match([shown(again), shown(b)], Array(2).fill({ x: 'put before the first pull' }))
  const theirs = { title: 'put before the first pull' }
  const conflict = { id: 'x', fields: ['title', 'description'], mine: { title: "a's", description: "b's" }, theirs }
  t.match(again.sync.conflicts(), [conflict])
  t.same(b.sync.conflicts(), [])
})

async function sync(...devices: Device[]): Promise<void> {
  for (const { sync } of devices) await sync.syncNow()
}
