import t from 'tap'
import { RecordError } from '../../../src/client/errors.ts'
import { bookmark } from './device.ts'
import { openPeople, shown } from './person.ts'

const people = await openPeople()

t.test('an update is there for the next read, and waits to be sent', async (t) => {
  const a = (await people.person(t)).device('a')
  await a.sync.put(bookmark('x', 'one', { tags: ['a'] }))
  await a.sync.update('x', { title: 'two', tags: undefined })
  t.same(a.sync.get('x'), bookmark('x', 'two', { position: 'a0' }))
  await a.sync.update('x', ({ title }) => ({ title: `${title}, three` }))
  t.equal(a.sync.get('x')?.title, 'two, three')
  t.same(a.sync.status().waiting, 1)
})

t.test('fields that every bookmark has cannot be removed', async (t) => {
  const a = (await people.person(t)).device('a')
  await a.sync.put(bookmark('x', 'one'))
  // @ts-expect-error: nor does it compile, unless the app's compiler takes undefined for a value of any optional field
  await a.sync.update('x', { title: undefined, source: undefined, url: undefined })
  t.same(a.sync.get('x'), { id: 'x', title: 'one', source: 'bookmarks', position: 'a0' })
})

t.test('an update that cannot be made changes nothing', async (t) => {
  const a = (await people.person(t)).device('a')
  await t.rejects(a.sync.update('x', { title: 'one' }), RangeError)
  await a.sync.put(bookmark('x', 'one'))
  const heard = a.changes.length
  await t.rejects(a.sync.update('x', { title: 'x'.repeat(200_000) }), RecordError)
  await t.rejects(a.sync.update('x', { title: 'two' }, { seen: Number.NaN }), RangeError)
  await a.sync.update('x', () => null)
  await a.sync.update('x', { id: 'y', title: 'one' })
  t.same([shown(a), a.changes.length], [{ x: 'one' }, heard])
})

t.test('a function that changes the bookmark it is given, against its type, loses nothing', async (t) => {
  const person = await people.person(t)
  const [a, b] = [person.device('a'), person.device('b')]
  await a.sync.put(bookmark('x', 'one', { tags: ['a'] }))
  for (const { sync } of [a, b]) await sync.syncNow()
  await b.sync.update('x', { title: 'theirs' })
  await b.sync.syncNow()
  await person.world.pass(1000)
  await a.sync.update('x', (current) => {
    current.tags?.push('mine')
    return Object.assign(current, { title: 'mine' })
  })
  for (const { sync } of [a, b]) await sync.syncNow()
  t.match(
    [a, b].map(({ sync }) => sync.get('x')),
    [
      { title: 'mine', tags: ['a', 'mine'] },
      { title: 'mine', tags: ['a', 'mine'] },
    ],
  )
  t.match(b.conflicts, [{ fields: ['title'], mine: { title: 'theirs' } }])
})

t.test('edits of one bookmark at the same time all stay', async (t) => {
  const a = (await people.person(t)).device('a')
  await a.sync.put([bookmark('f', 'folder', { url: undefined as never }), bookmark('x', 'one', { tags: [] })])
  const before = a.sync.get('x') ?? bookmark('x', 'missing')
  await Promise.all([
    a.sync.put({ ...before, title: 'two' }),
    a.sync.move('x', { parentId: 'f' }),
    a.sync.update('x', { description: 'a note' }),
    ...['a', 'b', 'c'].map((tag) => a.sync.update('x', ({ tags = [] }) => ({ tags: [...tags, tag] }))),
  ])
  t.match(a.sync.get('x'), { title: 'two', parentId: 'f', description: 'a note' })
  t.same(a.sync.get('x')?.tags?.toSorted(), ['a', 'b', 'c'])
  t.same(a.conflicts, [])
})

t.test('a bookmark added has a position at once, so that a move rewrites that one alone', async (t) => {
  const a = (await people.person(t)).device('a')
  await a.sync.put(Array.from({ length: 25 }, (_, index) => bookmark(`b${index}`, String(index))))
  await Promise.all(Array.from({ length: 25 }, (_, index) => a.sync.put(bookmark(`c${index}`, String(index)))))
  await a.sync.syncNow()
  a.changes.length = 0
  await a.sync.move('c24', { before: 'b3' })
  t.same([a.changes.map(({ ids }) => ids), a.sync.status().waiting], [[['c24']], 1])
  await Promise.all(['b0', 'b1', 'b2'].map((id) => a.sync.move(id, { before: 'c3' })))
  const positions = [...a.sync.bookmarks().values()].map(({ position }) => position)
  t.equal(new Set(positions).size, 50, 'no two have the same')
  const order = a.sync.tree().map(({ bookmark: { id } }) => id)
  t.same([order[0], order.slice(25, 29)], ['c24', ['c2', 'b0', 'b1', 'b2']])
})

t.test('one that is put into another folder goes to its end; one put again stays where it is', async (t) => {
  const a = (await people.person(t)).device('a')
  const inFolder = (id: string) => bookmark(id, id, { parentId: 'f' })
  await a.sync.put([
    bookmark('f', 'folder', { url: undefined as never }),
    ...['x', 'y'].map(inFolder),
    bookmark('z', 'z'),
  ])
  await a.sync.update('z', { parentId: 'f' })
  await a.sync.put(inFolder('x'))
  t.same(
    a.sync.tree()[0]?.children.map(({ bookmark: { id } }) => id),
    ['x', 'y', 'z'],
  )
})

t.test('among bookmarks without positions, a new one still comes last', async (t) => {
  const a = (await people.person(t)).device('a')
  const dated = (id: string, day: number) => bookmark(id, id, { dateAdded: `2026-01-0${day}T00:00:00Z` })
  await a.sync.importBookmarks([dated('x', 1), dated('y', 2)])
  await a.sync.put(dated('z', 3))
  t.same(
    a.sync.tree().map(({ bookmark: { id } }) => id),
    ['x', 'y', 'z'],
  )
})

t.test(
  'a move among many bookmarks without positions gives them theirs, and keeps what is edited meanwhile',
  async (t) => {
    const a = (await people.person(t)).device('a')
    const ids = Array.from({ length: 30 }, (_, index) => `b${10 + index}`)
    await a.sync.importBookmarks(ids.map((id) => bookmark(id, id)))
    await Promise.all([
      a.sync.move('b10', {}),
      a.sync.update('b12', { title: 'edited' }),
      a.sync.update('b10', { title: 'edited' }),
    ])
    t.same(
      a.sync.tree().map(({ bookmark: { id } }) => id),
      [...ids.slice(1), 'b10'],
    )
    t.match([a.sync.get('b10'), a.sync.get('b12')], Array(2).fill({ title: 'edited', position: /^a/ }))
  },
)
