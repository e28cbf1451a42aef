import t, { type Test } from 'tap'
import { createTabs, indexedDbStore, type Store, UnsentChangesError } from '../../../src/client/index.ts'
import { rejoinRow } from '../../../src/client/sync/store/conflicts.ts'
import { blankRow } from '../../../src/client/sync/store/row.ts'
import type { Waiting } from '../../../src/client/sync/store/store.ts'
import { pullAll } from '../../support/changes.ts'
import { until } from './clock.ts'
import { bookmark, type Device, online, openPeople, type Person, remove, send, shown, sync, update } from './device.ts'
import { down, type Fate, up } from './network.ts'
import { deleteDatabase, emptiedInTheMiddle, empty, five, synced, titles } from './stores.ts'

const people = await openPeople()

t.test('after the browser emptied the store under an open tab, the next change fills it again', async (t) => {
  const { person, a, b } = await people.open(t, { a: { disk: indexedDbStore } })
  const { userId } = person.user
  await a.sync.put(five)
  await online(person, a)
  await until(() => a.sync.status().waiting === 0)
  await sync(a)
  await empty(userId)
  await send(b, [bookmark('x', 'by b'), bookmark('p', 'changed by b')], b)
  for (const event of (await pullAll(person.user)).changes.slice(-2)) {
    a.network.socket?.say({ type: 'sync', event, stamp: b.sync.seen() - (event.entity_id === 'x' ? 1 : 0) })
  }
  await until(() => shown(a).p === 'changed by b')
  t.same(shown(a), await person.stored())
  await a.sync.stop()

  t.same(shown(await reloaded(person)), await person.stored(), 'the store is complete again')
})

t.test('a change that the channel repeats after the store was emptied is not a rollback', async (t) => {
  const { person, a, b } = await people.open(t, { a: { disk: indexedDbStore } })
  const { userId } = person.user
  await online(person, a)
  await send(b, bookmark('x', 'one'))
  const [event] = (await pullAll(person.user)).changes
  const late = { type: 'sync', event, stamp: person.world.time }
  await person.world.pass(1000)
  await send(b, bookmark('x', 'two'), a)
  await empty(userId)
  a.network.socket?.say(late)
  await a.sync.put(bookmark('y', 'made then'))
  await until(() => a.sync.status().waiting === 0)
  t.same([shown(a), a.errors], [{ x: 'two', y: 'made then' }, []])
  t.equal(a.sync.seen(), (await pullAll(person.user)).cursor, 'everything was pulled again')
})

t.test('after the emptying, editing a bookmark whose delete is held is reported to the deleting device', async (t) => {
  const { person, userId, a } = await synced(t)
  const b = person.device('b')
  await send(
    b,
    ['u', 'v', 'w'].map((id) => bookmark(id, id)),
    a,
  )
  await remove(b, ['q', 'r', 's', 't', 'u', 'v', 'w'], a)
  t.match(a.sync.status(), { heldDeletions: { count: 7 } })
  await empty(userId)
  await update(a, 'q', { title: 'kept' }, b)
  t.match(b.conflicts, [{ id: 'q', mine: null, theirs: { title: 'kept' } }])
})

t.test('deletes that arrive after the store was emptied are held with those that were shown before', async (t) => {
  const { person, userId, a } = await synced(t)
  const b = person.device('b')
  const many = Array.from({ length: 10 }, (_, index) => bookmark(`b${index}`, `${index}`))
  await send(b, many, a)
  const shownFirst = many.slice(2).map(({ id }) => id)
  await remove(b, shownFirst, a)
  t.match(a.sync.status(), { heldDeletions: { count: 8 } })
  await empty(userId)
  await remove(b, ['b0', 'b1'], a)
  await a.sync.stop()
  const held = (await reloaded(person)).sync.heldDeletions().map(({ id }) => id)
  t.same([held.slice(0, 8).sort(), held.slice(8).sort()], [shownFirst, ['b0', 'b1']])
})

t.test('unsent edits survive the emptying of the store, and so does an edit made just then', async (t) => {
  const { person, userId, a } = await synced(t)
  a.network.fate = down
  await a.sync.put(bookmark('p', 'waits'))
  await empty(userId)
  await a.sync.put(bookmark('q', 'made then'))
  a.network.fate = up
  await sync(a)
  t.match(await person.stored(), { p: 'waits', q: 'made then', r: 'title of r', s: 'title of s', t: 'title of t' })
  t.same([shown(a), a.errors, a.conflicts], [await person.stored(), [], []])
})

t.test('a store that was emptied between two pulls is filled from the start', async (t) => {
  const { person, userId, a } = await synced(t)
  await empty(userId)
  await sync(a)
  await a.sync.stop()
  t.same(shown(await reloaded(person)), await person.stored())
})

t.test('signing out after the store was emptied still asks about unsent edits, then ends the session', async (t) => {
  const { userId, a } = await synced(t)
  a.network.fate = down
  await a.sync.put(bookmark('p', 'waits'))
  await empty(userId)
  await t.rejects(a.sync.signOut(), new UnsentChangesError(1))
  await empty(userId)
  a.network.fate = up
  const editing = a.sync.put(bookmark('q', 'made then'))
  const signedOut = a.sync.signOut({ discardUnsent: true })
  await editing
  await signedOut
  t.same(shown(a), {})
  t.ok(a.network.calls.includes('logout'))
})

t.test('a store that the browser deletes during an edit is opened again, and is complete', async (t) => {
  const { person, userId, a: before } = await synced(t)
  await before.sync.stop()
  const store = indexedDbStore(userId)
  let isDeleted = false
  const read: Store['read'] = async (ids) => {
    const stored = await store.read(ids)
    if (ids.includes('p') && !isDeleted) {
      isDeleted = true
      await deleteDatabase(userId)
    }
    return stored
  }
  const a = person.device('a', { store: { ...store, read } })
  a.network.fate = down
  await a.sync.start()
  await a.sync.put(bookmark('p', 'waits'))
  await a.sync.stop()
  t.same(shown(await reloaded(person)), { ...(await person.stored()), p: 'waits' })
})

t.test('if the browser empties the store during an edit, the other bookmarks are stored again', async (t) => {
  const person = await people.person(t)
  const { userId } = person.user
  const { store, arm } = emptiedInTheMiddle(userId)
  const a = person.device('a', { store })
  await send(a, five)
  a.network.fate = down
  await a.sync.put(bookmark('p', 'waits'))
  arm()
  await a.sync.put(bookmark('q', 'made then'))
  await a.sync.stop()
  const reloaded = person.device('a', { disk: indexedDbStore })
  await sync(reloaded)
  t.same(await person.stored(), { ...titles, p: 'waits', q: 'made then' })
  t.same(shown(reloaded), await person.stored())
})

t.test('after another tab has filled the emptied store, unsent edits of the first tab are sent', async (t) => {
  const { person, a, other } = await emptiedUnderAnEdit(t)
  await sync(other)
  // The first tab may have told the other about its edit already.
  t.ok(['title of p', 'waits'].includes(shown(other).p ?? ''))
  a.network.fate = up
  await sync(a)
  t.match(await person.stored(), { p: 'waits' })
  await until(() => shown(other).p === 'waits')
  t.same([shown(a), shown(other)], Array(2).fill(await person.stored()))
  t.same([a.conflicts, other.conflicts], [[], []])
})

t.test("if another tab's edit is first in the emptied store, the first tab's bookmarks are kept", async (t) => {
  const { person, userId, a } = await synced(t)
  await empty(userId)
  const other = person.device('a', { disk: indexedDbStore })
  other.network.fate = down
  await other.sync.put(bookmark('z', 'by the other'))
  await sync(a)
  const expected = { ...titles, z: 'by the other' }
  t.same(await person.stored(), expected)
  t.same(shown(a), expected)
  await until(() => 'p' in shown(other))
  t.same(shown(other), expected)
})

t.test('if both tabs edit one bookmark after the emptying, one edit is kept and the other reported', async (t) => {
  const { person, a, other } = await emptiedUnderAnEdit(t)
  await other.sync.put(bookmark('p', 'by the other'))
  a.network.fate = up
  await sync(a)
  t.match(await person.stored(), { p: 'by the other' })
  t.match(a.conflicts, [{ id: 'p', mine: { title: 'waits' }, theirs: { title: 'by the other' } }])
})

t.test('a bookmark that both tabs delete after the emptying is no conflict', async (t) => {
  const deleted = { bookmark: null, data_hash: null, device_id: 'a', operation: 'delete', confirmed: true } as const
  const change = { id: 'own', timestamp: 1, device_id: 'a', operation: 'delete' }
  const own = { ...blankRow('bookmark x'), waiting: [{ change, bookmark: null, sent: false } as unknown as Waiting] }
  const stored = { ...blankRow('bookmark x'), version: { ...deleted, event_id: 'later', timestamp: 2 } }
  t.same(rejoinRow(own, stored, undefined), [])
})

t.test('signing out in a tab opened after the emptying asks about unsent edits of the first tab', async (t) => {
  const { other } = await emptiedUnderAnEdit(t)
  other.network.fate = down
  await other.sync.start()
  await until(() => shown(other).p === 'waits')
  await t.rejects(other.sync.signOut(), new UnsentChangesError(1))
})

t.test('bookmarks that another tab deletes after filling the emptied store do not come back', async (t) => {
  const { person, userId, a } = await synced(t)
  a.network.fate = down
  await a.sync.put(bookmark('z', 'never sent'))
  const other = person.device('a', { disk: indexedDbStore })
  await other.sync.put(bookmark('y', 'by the other'))
  await empty(userId)
  await other.sync.remove('z')
  await a.sync.put(bookmark('p', 'made then'))
  a.network.fate = up
  await sync(a)
  t.same(await person.stored(), { ...titles, p: 'made then', y: 'by the other' })
  await until(() => shown(other).p === 'made then')
  t.same([shown(a), shown(other)], Array(2).fill(await person.stored()))
})

t.test('after another tab has filled the emptied store, unresolved conflicts remain', async (t) => {
  const { person, userId, a } = await synced(t)
  await a.sync.update('p', { title: 'lost' })
  await a.sync.put(bookmark('p', 'later'), { seen: bookmark('p', 'title of p') })
  const conflict = { id: 'p', fields: ['title'], mine: { title: 'lost' }, theirs: { title: 'later' } }
  t.match(a.sync.conflicts(), [conflict])
  await sync(a)
  await empty(userId)
  const other = person.device('a', { disk: indexedDbStore })
  await sync(other, a)
  await until(() => other.sync.conflicts().length > 0)
  t.match([a.sync.conflicts(), other.sync.conflicts()], [[conflict], [conflict]])
})

t.test('if the store is emptied while an unsent bookmark is deleted, no tab brings it back', async (t) => {
  const person = await people.person(t)
  const { userId } = person.user
  const { store, arm } = emptiedInTheMiddle(userId)
  const a = person.device('a', { store })
  a.network.fate = down
  await a.sync.put(bookmark('z', 'never sent'))
  const other = person.device('a', { disk: indexedDbStore })
  other.network.fate = down
  await other.sync.put(bookmark('y', 'by the other'))
  await until(() => 'y' in shown(a))
  arm()
  await a.sync.remove('z')
  await other.sync.put(bookmark('x', 'made then'))
  a.network.fate = up
  await sync(a)
  const expected = { x: 'made then', y: 'by the other' }
  t.same([shown(a), shown(other), await person.stored()], Array(3).fill(expected))
})

for (const when of ['while a page is on its way', 'in the middle of an edit']) {
  t.test(`if the browser empties the store ${when} in a tab that has slept, nothing goes missing`, async (t) => {
    const { person, userId, a } = await synced(t)
    const channel = new BroadcastChannel(`nobody-${userId}`) as unknown as globalThis.BroadcastChannel
    const { store, arm } = emptiedInTheMiddle(userId)
    const asleep = person.device('a', { store, tabs: createTabs(userId, { channel }) })
    await asleep.sync.put([])
    const b = person.device('b')
    await send(b, bookmark('x', 'by b'), a)
    await a.sync.stop()
    if (when === 'in the middle of an edit') arm()
    else asleep.network.fate = emptying(userId)
    await send(asleep, bookmark('p', 'edited'))
    const expected = { ...titles, p: 'edited', x: 'by b' }
    t.same([shown(asleep), await person.stored()], [expected, expected])
  })
}

/** The device after a reload without a network. */
async function reloaded(person: Person): Promise<Device> {
  const device = person.device('a', { disk: indexedDbStore })
  device.network.fate = down
  await device.sync.start()
  return device
}

/** Empties the store before the first page arrives. */
function emptying(userId: string): Fate {
  let isEmptied = false
  return async (call) => {
    const answer = await call.send()
    if (call.name === 'pull' && !isEmptied) await empty(userId)
    isEmptied ||= call.name === 'pull'
    return answer
  }
}

/** An edit waits in an offline tab. Then the store is emptied, and another tab is opened. */
async function emptiedUnderAnEdit(t: Test) {
  const { person, userId, a } = await synced(t)
  a.network.fate = down
  await a.sync.put(bookmark('p', 'waits'))
  await empty(userId)
  return { person, a, other: person.device('a', { disk: indexedDbStore }) }
}
