import t from 'tap'
import { sealJson } from '../../../src/client/crypto/record.ts'
import { OfflineError, RecordError, type TreeNode } from '../../../src/client/index.ts'
import { moveBookmarks } from '../../../src/client/sync/edits/move.ts'
import type { Engine } from '../../../src/client/sync/engine.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import { change } from '../../support/changes.ts'
import { pick } from '../../support/pick.ts'
import { bookmark, type Device, numbered, openPeople, send, shown, sync, update } from './device.ts'
import { answerLost, down, refused, up } from './network.ts'

const people = await openPeople()

t.test('an edit is visible at once, without a network, and listeners get it', async (t) => {
  const { a } = await people.open(t)
  a.network.fate = down
  await a.sync.put([bookmark('x', 'one', { position: 'a0' }), bookmark('y', 'two')])
  await a.sync.remove('y')
  t.same(shown(a), { x: 'one' })
  t.same(a.sync.get('x'), bookmark('x', 'one', { position: 'a0' }))
  t.equal(a.sync.get('y'), undefined)
  t.same(a.changes, [
    { ids: ['x', 'y'], origin: 'local' },
    { ids: ['y'], origin: 'local' },
  ])
  t.same(a.sync.status(), { state: 'offline', lastSync: 0, waiting: 2 })
  t.same(a.network.calls, [], 'nothing is sent before start or syncNow')
})

t.test('an edit that changes nothing is ignored', async (t) => {
  const { a } = await people.open(t)
  await send(a, bookmark('x', 'one'))
  const heard = a.changes.length
  await a.sync.put({ source: 'bookmarks', url: 'https://example.org/x', title: 'one', id: 'x' })
  await a.sync.remove('nothing')
  t.equal(a.sync.status().waiting, 0)
  t.equal(a.changes.length, heard)
})

t.test('changing the object passed to an edit, during the edit or later, has no effect', async (t) => {
  const { a } = await people.open(t)
  const mine = [bookmark('x', 'one', { tags: ['a'], position: 'a0' }), bookmark('y', 'two')]
  const [x] = mine
  const putting = a.sync.put(mine)
  for (const one of mine.splice(0)) one.title = 'later'
  await putting
  x?.tags?.push('b')
  t.same(a.sync.get('x'), bookmark('x', 'one', { tags: ['a'], position: 'a0' }))
  const patch = { title: 'three' }
  const updating = a.sync.update('x', patch)
  patch.title = 'later'
  await updating
  t.same(shown(a), { x: 'three', y: 'two' })
})

t.test('an edit of several bookmarks is atomic: if one cannot be encrypted, none is stored', async (t) => {
  const { a } = await people.open(t)
  await t.rejects(a.sync.put([bookmark('x', 'one'), bookmark('ü', 'no id')]), RecordError)
  await t.rejects(a.sync.put([bookmark('x', 'one'), bookmark('y', 'x'.repeat(200_000))]), RecordError)
  t.same(shown(a), {})
  t.equal(a.sync.status().waiting, 0)
})

t.test('a field that does not match the contract is refused, and changes nothing', async (t) => {
  const { a } = await people.open(t)
  const malformed = { name: 'RecordError', fault: 'malformed' }
  await send(a, bookmark('x', 'one', { tags: ['a'], position: 'a0' }))
  const bad = { tags: 'abc' } as unknown as { tags: string[] }
  await t.rejects(a.sync.put([bookmark('y', 'two'), bookmark('x', 'one', bad)]), malformed)
  await t.rejects(a.sync.update('x', bad), malformed)
  await t.rejects(
    a.sync.update('x', () => ({ extra: { at: new Map() } })),
    malformed,
  )
  await t.rejects(a.sync.resolve('x', 'none' as 'mine'), RangeError)
  t.equal(a.sync.status().waiting, 0)
  t.same(a.sync.get('x'), bookmark('x', 'one', { tags: ['a'], position: 'a0' }))

  const list = [bookmark('y', 'two'), bookmark('z', 'three', bad)]
  const failed = [{ id: 'z', error: malformed }]
  t.match(await a.sync.importBookmarks(list), { imported: 1, failed, existing: [] })
  t.match(await a.sync.restoreExport({ bookmarks: list }), { imported: 0, failed, existing: ['y'] })
})

t.test('malformed fields stored by an older client are not shown, and the next edit removes them', async (t) => {
  const { person, a, b } = await people.open(t)
  const sealed = sealJson(person.keys, 'x', JSON.stringify({ ...bookmark('x', 'one'), tags: 'abc' }))
  const stored = change({ entity_id: 'x', device_id: 'old', timestamp: person.world.time, ...sealed })
  await person.user.call('POST', '/api/v1/sync/push', {
    body: { changes: [stored] },
    headers: { 'x-device-id': 'old' },
  })
  await sync(a)
  t.same(a.sync.get('x'), bookmark('x', 'one'))
  await update(a, 'x', ({ tags = [] }) => ({ tags: [...tags, 'crypto'] }), b)
  t.same(b.sync.get('x')?.tags, ['crypto'])
  t.same([a.errors, b.errors], [[], []])
})

t.test('several edits of a bookmark are sent as one; one made and deleted before sending is not sent', async (t) => {
  const { person, a } = await people.open(t)
  await sync(a)
  for (const title of ['one', 'two', 'three']) await a.sync.put(bookmark('x', title))
  await a.sync.put(bookmark('y', 'one'))
  await a.sync.remove('y')
  t.equal(a.sync.status().waiting, 1)
  await sync(a)
  t.match(a.network.sent, [{ entity_id: 'x', operation: 'create' }])
  t.same(await person.stored(), { x: 'three' })
})

t.test('the delete of a bookmark whose push may have arrived is sent', async (t) => {
  const { person, a } = await people.open(t)
  await a.sync.put(bookmark('x', 'one'))
  a.network.fate = (call) => (call.name === 'push' ? answerLost(call) : call.send())
  await t.rejects(a.sync.syncNow(), OfflineError)
  await a.sync.remove('x')
  t.equal(a.sync.status().waiting, 1)
  a.network.fate = up
  await sync(a)
  t.same(await person.stored(), {})
  t.same([a.sync.status().waiting, a.conflicts, a.errors], [0, [], []])
})

t.test('an edit made during a push of the same bookmark is sent after it', async (t) => {
  const { person, a } = await people.open(t)
  await a.sync.put(bookmark('x', 'one'))
  a.network.fate = async (call) => {
    const answer = await call.send()
    if (call.name === 'push' && a.sync.get('x')?.title === 'one') await a.sync.put(bookmark('x', 'two'))
    return answer
  }
  await sync(a)
  const { sent } = a.network
  t.match(sent, [
    { operation: 'create', base: 0 },
    { operation: 'update', base: 0 },
  ])
  t.ok((sent[1]?.timestamp ?? 0) > (sent[0]?.timestamp ?? 0), 'the second is later')
  t.same(await person.stored(), { x: 'two' })
  t.same([shown(a), a.conflicts], [{ x: 'two' }, []])
})

t.test('timestamps rise strictly even if the clock stands still', async (t) => {
  const { a } = await people.open(t)
  for (const id of ['x', 'y', 'z']) await a.sync.put(bookmark(id, id))
  await sync(a)
  const [x = 0, y = 0, z = 0] = pick(a.network.sent, 'timestamp')
  t.ok(x < y && y < z, `${x} ${y} ${z}`)
})

t.test('many edits are sent in batches of 500, large ones in batches of 4 MiB', async (t) => {
  for (const [count, title] of [
    [1100, 'short'],
    [40, 'x'.repeat(190_000)],
  ] as const) {
    const { person, a } = await people.open(t)
    await send(
      a,
      numbered(count).map((one) => ({ ...one, title })),
    )
    t.equal(a.network.count('push'), 3)
    t.equal(Object.keys(await person.stored()).length, count)
  }
})

t.test('two devices that make the same edit, or reach it by a create and an edit, get no conflict', async (t) => {
  const { person, a, b } = await people.open(t)
  for (const { sync } of [a, b]) await sync.put(bookmark('x', 'same'))
  await sync(a, b, a)
  for (const { sync } of [a, b]) await sync.remove('x')
  await sync(a, b, a)
  t.same([shown(a), shown(b)], [{}, {}])
  await b.sync.put(bookmark('y', 'same'))
  await person.world.pass(1000)
  for (const title of ['other', 'same']) await send(a, bookmark('y', title))
  await sync(b, a)
  t.same([a.conflicts, b.conflicts, shown(a), shown(b)], [[], [], { y: 'same' }, { y: 'same' }])
})

t.test('an overwritten edit is reported even if the winner was edited again before it arrived', async (t) => {
  const { person, a, b, c } = await people.open(t)
  await send(b, bookmark('x', "b's"))
  await person.world.pass(1000)
  await send(a, bookmark('x', "a's"))
  await send(a, bookmark('x', "a's second"), c)
  await c.sync.put(bookmark('x', "c's"))
  await sync(c, b)
  t.match(b.conflicts, [{ mine: { title: "b's" }, theirs: { title: "c's" } }])
  await sync(a)
  t.same([a.conflicts, c.conflicts], [[], []], 'c had seen the version that it edited')
})

t.test('an edit on top of an unsent one does not count as having seen changes pulled in between', async (t) => {
  const { person, a, b } = await people.open(t)
  await b.sync.put(bookmark('x', "b's"))
  await person.world.pass(1000)
  await a.sync.put(bookmark('x', "a's"))
  await sync(b)
  a.network.fate = refused
  await sync(a)
  a.network.fate = up
  await send(a, bookmark('x', "a's second"), b)
  t.same(await person.stored(), { x: "a's second" })
  t.match(b.conflicts, [{ mine: { title: "b's" }, theirs: { title: "a's second" } }])
})

t.test("saving a form over another device's change reports the loss to that device", async (t) => {
  const { a, b } = await people.open(t)
  await send(a, bookmark('x', 'one'), b)
  const seen = b.sync.seen()
  await send(a, bookmark('x', 'two'), b)
  await b.sync.put(bookmark('x', 'form'), { seen })
  await sync(b, a)
  t.same([shown(a), shown(b)], [{ x: 'form' }, { x: 'form' }])
  t.match(a.conflicts, [{ mine: { title: 'two' }, theirs: { title: 'form' } }])
})

t.test("a form's `seen` state applies to its own bookmark only", async (t) => {
  const { a } = await people.open(t)
  await a.sync.put([bookmark('x', 'one'), bookmark('y', 'another')])
  await a.sync.put([bookmark('x', 'two'), bookmark('y', 'two')], { seen: a.sync.get('x') })
  t.same([shown(a), a.sync.conflicts()], [{ x: 'two', y: 'two' }, []])
})

function order(nodes: readonly TreeNode[] = []): string[] {
  return nodes.map(({ bookmark }) => bookmark.id)
}

t.test('an update is visible to the next read, and waits to be sent', async (t) => {
  const { a } = await people.open(t)
  await a.sync.put(bookmark('x', 'one', { tags: ['a'], position: 'a0' }))
  await a.sync.update('x', { title: 'two', tags: undefined })
  t.same(a.sync.get('x'), bookmark('x', 'two', { position: 'a0' }))
  await a.sync.update('x', ({ title }) => ({ title: `${title}, three` }))
  t.equal(a.sync.get('x')?.title, 'two, three')
  t.same(a.sync.status().waiting, 1)
})

t.test('fields that every bookmark has cannot be removed', async (t) => {
  const { a } = await people.open(t)
  await a.sync.put(bookmark('x', 'one', { position: 'a0' }))
  // @ts-expect-error: does not compile with exactOptionalPropertyTypes
  await a.sync.update('x', { title: undefined, source: undefined, url: undefined })
  t.same(a.sync.get('x'), { id: 'x', title: 'one', source: 'bookmarks', position: 'a0' })
})

t.test('an invalid edit changes nothing', async (t) => {
  const { a } = await people.open(t)
  for (const seen of [Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY]) {
    await t.rejects(a.sync.put(bookmark('x', 'one'), { seen }), RangeError)
  }
  await t.rejects(a.sync.update('x', { title: 'one' }), RangeError)
  await a.sync.put(bookmark('x', 'one'))
  const heard = a.changes.length
  await t.rejects(a.sync.update('x', { title: 'x'.repeat(200_000) }), RecordError)
  await t.rejects(a.sync.update('x', { title: 'two' }, { seen: Number.NaN }), RangeError)
  await a.sync.update('x', () => null)
  await a.sync.update('x', { id: 'y', title: 'one' })
  t.same([shown(a), a.changes.length], [{ x: 'one' }, heard])
})

t.test('an update function that mutates its argument, against its type, loses nothing', async (t) => {
  const { person, a, b } = await people.open(t)
  await send(a, bookmark('x', 'one', { tags: ['a'] }), b)
  await update(b, 'x', { title: 'theirs' })
  await person.world.pass(1000)
  await a.sync.update('x', (current) => {
    current.tags?.push('mine')
    return Object.assign(current, { title: 'mine' })
  })
  await sync(a, b)
  t.match([a.sync.get('x'), b.sync.get('x')], Array(2).fill({ title: 'mine', tags: ['a', 'mine'] }))
  t.match(b.conflicts, [{ fields: ['title'], mine: { title: 'theirs' } }])
})

t.test('a new bookmark gets a position at once, so that a move rewrites only the moved one', async (t) => {
  const { a } = await people.open(t)
  await a.sync.put(Array.from({ length: 25 }, (_, index) => bookmark(`b${index}`, String(index))))
  await Promise.all(Array.from({ length: 25 }, (_, index) => a.sync.put(bookmark(`c${index}`, String(index)))))
  await sync(a)
  a.changes.length = 0
  await a.sync.move('c24', { before: 'b3' })
  t.same([a.changes.map(({ ids }) => ids), a.sync.status().waiting], [[['c24']], 1])
  await Promise.all(['b0', 'b1', 'b2'].map((id) => a.sync.move(id, { before: 'c3' })))
  const positions = [...a.sync.bookmarks().values()].map(({ position }) => position)
  t.equal(new Set(positions).size, 50, 'all positions differ')
  const ids = order(a.sync.tree())
  t.same([ids[0], ids.slice(25, 29)], ['c24', ['c2', 'b0', 'b1', 'b2']])
})

t.test('groups that two offline devices put, move or import to one place are not mixed', async (t) => {
  const { a, b } = await people.open(t)
  const ids = (device: Device, ...names: string[]) => names.map((name) => `${device.id}-${name}`)
  const both = ['m1', 'm2'].flatMap((name) => [...ids(a, name), ...ids(b, name)])
  await send(
    a,
    ['first', ...both, 'last'].map((id) => bookmark(id, id)),
  )
  await sync(b)
  for (const device of [a, b]) {
    for (const id of ids(device, 'm1', 'm2')) await device.sync.move(id, { before: 'first' })
    for (const id of ids(device, 'p1', 'p2', 'p3')) await device.sync.put(bookmark(id, id))
    await device.sync.importBookmarks(ids(device, 'i1', 'i2').map((id) => bookmark(id, id)))
  }
  await sync(a, b, a)
  t.same(order(b.sync.tree()), order(a.sync.tree()))
  const runs = order(a.sync.tree())
    .map((id) => id.split('-')[0])
    .filter((id, index, all) => id !== all[index - 1])
  t.match(runs, [/^[ab]$/, /^[ab]$/, 'first', 'last', /^[ab]$/, /^[ab]$/])
})

t.test('a bookmark put into another folder goes to its end; one put again keeps its place', async (t) => {
  const { a } = await people.open(t)
  const inFolder = (id: string) => bookmark(id, id, { parentId: 'f' })
  const f = bookmark('f', 'folder', { url: undefined as never })
  await a.sync.put([f, ...['x', 'y'].map(inFolder), bookmark('z', 'z')])
  await a.sync.update('z', { parentId: 'f' })
  await a.sync.put(inFolder('x'))
  t.same(order(a.sync.tree()[0]?.children), ['x', 'y', 'z'])
})

t.test('a new bookmark comes last among bookmarks without positions', async (t) => {
  const { a } = await people.open(t)
  const dated = (id: string, day: number) => bookmark(id, id, { dateAdded: `2026-01-0${day}T00:00:00Z` })
  await a.sync.importBookmarks([dated('x', 1), dated('y', 2)])
  await a.sync.put(dated('z', 3))
  t.same(order(a.sync.tree()), ['x', 'y', 'z'])
})

t.test("many bookmarks are changed or moved in one write, in the list's order, or none of them", async (t) => {
  const person = await people.person(t)
  const store = memoryStore()
  let writes = 0
  const write: Store['write'] = (...all) => {
    writes++
    return store.write(...all)
  }
  const a = person.device('a', { store: { ...store, write } })
  const f = bookmark('f', 'folder', { url: undefined as never })
  const in2 = (id: string) => bookmark(id, id, { parentId: 'g' })
  await a.sync.put([
    f,
    bookmark('g', 'inside', { url: undefined as never, parentId: 'f' }),
    in2('x'),
    in2('y'),
    in2('z'),
  ])
  await a.sync.put(['1', '2', '3'].map((id) => bookmark(id, id)))
  const state = () => [order(a.sync.tree()), order(a.sync.tree()[0]?.children?.[0]?.children), shown(a), writes]
  const before = state()

  await t.rejects(a.sync.update(['x', 'y', 'gone'], { title: 'new' }), { message: /There is no bookmark gone/ })
  await t.rejects(
    a.sync.update(['x', '1'], ({ id }) => ({ title: id.repeat(id === '1' ? 200_000 : 1) })),
    RecordError,
  )
  await t.rejects(a.sync.move(['3', 'gone'], { parentId: 'g' }), { message: /There is no bookmark gone/ })
  await t.rejects(a.sync.move(['3', 'f'], { parentId: 'g' }), { message: /no folder g outside of what is moved/ })
  await a.sync.update([], { title: 'new' })
  await a.sync.move([], { parentId: 'g' })
  t.same(state(), before)

  await a.sync.update(['x', '1', '1'], ({ title, tags = [] }) => ({ title: `${title}!`, tags: [...tags, 'new'] }))
  t.match(
    [a.sync.get('x'), a.sync.get('1')],
    [
      { title: 'x!', tags: ['new'] },
      { title: '1!', tags: ['new'] },
    ],
  )
  await a.sync.move(['3', 'z', '1'], { parentId: 'g', before: 'y' })
  t.same(state().slice(0, 2), [
    ['f', '2'],
    ['x', '3', 'z', '1', 'y'],
  ])
  t.equal(writes, (before[3] as number) + 2)
})

t.test('a move among many bookmarks without positions gives them positions, and keeps edits meanwhile', async (t) => {
  const { a } = await people.open(t)
  const ids = Array.from({ length: 30 }, (_, index) => `b${10 + index}`)
  await a.sync.importBookmarks(ids.map((id) => bookmark(id, id)))
  await Promise.all([
    a.sync.move('b10', {}),
    a.sync.update('b12', { title: 'edited' }),
    a.sync.update('b10', { title: 'edited' }),
  ])
  t.same(order(a.sync.tree()), [...ids.slice(1), 'b10'])
  t.match([a.sync.get('b10'), a.sync.get('b12')], Array(2).fill({ title: 'edited', position: /^a/ }))
})

t.test('a move finds its target folder behind folders of any length', async (t) => {
  const node = (id: string, children: TreeNode[] = []): TreeNode => ({ bookmark: bookmark(id, id), children })
  const many = Array.from({ length: 150_000 }, (_, index) => node(`b${index}`))
  const tree = [node('long', many)]
  const live = new Map([['moved', bookmark('moved', '')]])
  const replica = { lives: { bookmark: live }, commit: async (plan: () => string[]) => plan() }
  const parts = { trees: { bookmark: { read: () => tree } }, replica }
  await t.rejects(moveBookmarks(parts as unknown as Engine, ['moved'], { parentId: 'missing' }), {
    message: 'There is no folder missing outside of what is moved',
  })
})
