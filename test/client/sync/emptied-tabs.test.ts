/** The browser empties the store under several tabs: one of them fills it again, and nothing that another knows is lost. */
import t, { type Test } from 'tap'
import { UnsentChangesError } from '../../../src/client/errors.ts'
import { indexedDbStore } from '../../../src/client/sync/store/indexed-db.ts'
import { createTabs } from '../../../src/client/sync/store/tabs.ts'
import { bookmark } from './device.ts'
import { emptiedInTheMiddle, empty, synced, titles } from './emptied.ts'
import { down, type Fate, up } from './network.ts'
import { openPeople, shown } from './person.ts'
import { until } from './turns.ts'

const people = await openPeople()

t.test('another tab fills the emptied store: what waits in the first one is still sent', async (t) => {
  const { person, a, other } = await emptiedUnderAnEdit(t)
  await other.sync.syncNow()
  t.match(shown(other), { p: 'title of p' })
  a.network.fate = up
  await a.sync.syncNow()
  t.match(await person.stored(), { p: 'waits' })
  await until(() => shown(other).p === 'waits')
  t.same([shown(a), shown(other)], Array(2).fill(await person.stored()))
  t.same([a.conflicts, other.conflicts], [[], []])
})

t.test(
  'another tab begins the emptied store with an edit: nothing that the first one knows goes missing',
  async (t) => {
    const { person, userId, a } = await synced(t)
    await empty(userId)
    const other = person.device('a', { store: indexedDbStore(userId) })
    other.network.fate = down
    await other.sync.put(bookmark('z', 'by the other'))
    await a.sync.syncNow()
    const expected = { ...titles, z: 'by the other' }
    t.same(await person.stored(), expected)
    t.same(shown(a), expected)
    await until(() => 'p' in shown(other))
    t.same(shown(other), expected)
  },
)

t.test(
  'another tab begins the emptied store with the same bookmark: one of the edits is kept, the other told',
  async (t) => {
    const { person, a, other } = await emptiedUnderAnEdit(t)
    await other.sync.put(bookmark('p', 'by the other'))
    a.network.fate = up
    await a.sync.syncNow()
    t.match(await person.stored(), { p: 'by the other' })
    t.match(a.conflicts, [{ id: 'p', mine: { title: 'waits' }, theirs: { title: 'by the other' } }])
  },
)

t.test(
  'signing out in a tab that was opened after the store was emptied asks about edits of the first one',
  async (t) => {
    const { other } = await emptiedUnderAnEdit(t)
    other.network.fate = down
    await other.sync.start()
    await until(() => shown(other).p === 'waits')
    await t.rejects(other.sync.signOut(), new UnsentChangesError(1))
  },
)

t.test('what another tab removes once it has filled the emptied store does not come back', async (t) => {
  const { person, userId, a } = await synced(t)
  a.network.fate = down
  await a.sync.put(bookmark('z', 'never sent'))
  const other = person.device('a', { store: indexedDbStore(userId) })
  await other.sync.put(bookmark('y', 'by the other'))
  await empty(userId)
  await other.sync.remove('z')
  await a.sync.put(bookmark('p', 'made then'))
  a.network.fate = up
  await a.sync.syncNow()
  t.same(await person.stored(), { ...titles, p: 'made then', y: 'by the other' })
  await until(() => shown(other).p === 'made then')
  t.same([shown(a), shown(other)], Array(2).fill(await person.stored()))
})

t.test('another tab fills the emptied store: conflicts that nobody has resolved remain', async (t) => {
  const { person, userId, a } = await synced(t)
  await a.sync.update('p', { title: 'lost' })
  await a.sync.put(bookmark('p', 'later'), { seen: bookmark('p', 'title of p') })
  const conflict = { id: 'p', fields: ['title'], mine: { title: 'lost' }, theirs: { title: 'later' } }
  t.match(a.sync.conflicts(), [conflict])
  await a.sync.syncNow()
  await empty(userId)
  const other = person.device('a', { store: indexedDbStore(userId) })
  await other.sync.syncNow()
  await a.sync.syncNow()
  await until(() => other.sync.conflicts().length > 0)
  t.match([a.sync.conflicts(), other.sync.conflicts()], [[conflict], [conflict]])
})

t.test(
  'the browser empties the store while an unsent bookmark is removed: another tab does not bring it back',
  async (t) => {
    const person = await people.person(t)
    const { userId } = person.user
    const { store, arm } = emptiedInTheMiddle(userId)
    const a = person.device('a', { store })
    a.network.fate = down
    await a.sync.put(bookmark('z', 'never sent'))
    const other = person.device('a', { store: indexedDbStore(userId) })
    other.network.fate = down
    await other.sync.put(bookmark('y', 'by the other'))
    await until(() => 'y' in shown(a))
    arm()
    await a.sync.remove('z')
    await other.sync.put(bookmark('x', 'made then'))
    a.network.fate = up
    await a.sync.syncNow()
    const expected = { x: 'made then', y: 'by the other' }
    t.same([shown(a), shown(other), await person.stored()], Array(3).fill(expected))
  },
)

for (const when of ['while a page is on its way', 'in the middle of an edit']) {
  t.test(`the browser empties the store ${when}, of a tab that has slept: nothing goes missing`, async (t) => {
    const { person, userId, a } = await synced(t)
    const channel = new BroadcastChannel(`nobody-${userId}`) as unknown as globalThis.BroadcastChannel
    const { store, arm } = emptiedInTheMiddle(userId)
    const asleep = person.device('a', { store, tabs: createTabs(userId, { channel }) })
    await asleep.sync.put([])
    const b = person.device('b')
    await b.sync.put(bookmark('x', 'by b'))
    for (const { sync } of [b, a]) await sync.syncNow()
    await a.sync.stop()
    if (when === 'in the middle of an edit') arm()
    else asleep.network.fate = emptying(userId)
    await asleep.sync.put(bookmark('p', 'edited'))
    await asleep.sync.syncNow()
    const expected = { ...titles, p: 'edited', x: 'by b' }
    t.same([shown(asleep), await person.stored()], [expected, expected])
  })
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

/** An edit waits in one tab, which has no network; then the store is emptied, and another tab opened. */
async function emptiedUnderAnEdit(t: Test) {
  const { person, userId, a } = await synced(t)
  a.network.fate = down
  await a.sync.put(bookmark('p', 'waits'))
  await empty(userId)
  return { person, a, other: person.device('a', { store: indexedDbStore(userId) }) }
}
