import t from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import { undoable } from '../../../src/client/undo.ts'
import { bookmarksIn } from '../bookmark-file/samples.ts'
import { bookmark, numbered, openPeople, remove, send, shown, sync } from './device.ts'

const people = await openPeople()

const contents = (bookmarks: ReadonlyMap<string, PlaintextBookmark>) => Object.fromEntries(bookmarks)

t.test('each kind of edit can be undone and redone, as new edits that other devices get', async (t) => {
  const { a, b } = await people.open(t)
  const edits = undoable(a.sync)
  const folder = bookmark('f', 'folder', { url: undefined as never })
  await a.sync.put([folder, bookmark('x', 'one', { tags: ['old'] }), bookmark('y', 'other')])
  const states = [contents(a.sync.bookmarks())]
  const told: unknown[] = []
  edits.steps.subscribe(() => told.push(edits.steps.read()))
  for (const make of [
    () => edits.put([bookmark('z', 'new'), bookmark('y', 'another', { description: 'a note' })]),
    () => edits.update(['x', 'y'], ({ title }) => ({ title: `${title}!`, tags: undefined })),
    () => edits.update('x', { title: 'patched' }),
    () => edits.move(['y', 'x'], { parentId: 'f' }),
    () => edits.remove(['f', 'x']),
  ]) {
    await make()
    states.push(contents(a.sync.bookmarks()))
  }
  t.same(told.at(-1), { undo: 5, redo: 0 })
  await sync(a, b)
  for (const state of states.slice(0, -1).toReversed()) {
    t.same(await edits.undo(), { changed: [] })
    t.same(contents(a.sync.bookmarks()), state)
    await sync(a, b)
    t.same(contents(b.sync.bookmarks()), state)
  }
  t.equal(await edits.undo(), undefined)
  t.same(told.at(-1), { undo: 0, redo: 5 })
  for (const state of states.slice(1)) {
    t.same(await edits.redo(), { changed: [] })
    t.same(contents(a.sync.bookmarks()), state)
  }
  await edits.undo()
  await edits.put(bookmark('z', 'edited since'))
  t.same([await edits.redo(), edits.steps.read()], [undefined, { undo: 5, redo: 0 }])
})

t.test('an undo keeps fields that another device has changed since, and restores the others', async (t) => {
  const { a, b } = await people.open(t)
  const edits = undoable(a.sync)
  await a.sync.put(['x', 'y', 'z', 'w'].map((id) => bookmark(id, 'before', { tags: ['t'] })))
  await edits.update(['x', 'y', 'z', 'w'], ({ tags = [] }) => ({ title: 'mine', tags: [...tags, 'mine'] }))
  await sync(a, b)
  await b.sync.update('x', { title: 'theirs', tags: ['t', 'mine', 'theirs'] })
  await b.sync.update('y', { description: 'theirs' })
  await remove(b, 'z', a)
  const report = await edits.undo()
  t.same(report?.changed.toSorted(), ['x', 'z'])
  t.match(contents(a.sync.bookmarks()), {
    x: { title: 'theirs', tags: ['t', 'theirs'] },
    y: { title: 'before', tags: ['t'], description: 'theirs' },
    w: { title: 'before', tags: ['t'] },
  })
  t.same((await edits.redo())?.changed.toSorted(), ['x', 'z'])
  t.same(shown(a), { w: 'mine', x: 'theirs', y: 'mine' })
  t.equal(a.sync.get('y')?.description, 'theirs')
  t.same([a.conflicts, b.conflicts], [[], []])
})

t.test('an undo neither deletes a bookmark edited elsewhere nor replaces one that is back', async (t) => {
  const { a, b } = await people.open(t)
  const edits = undoable(a.sync)
  await a.sync.put(bookmark('old', 'before'))
  await edits.remove('old')
  await edits.put([bookmark('x', 'added'), bookmark('y', 'added')])
  await sync(a, b)
  await send(b, [bookmark('old', 'theirs'), bookmark('x', 'theirs')], a)
  t.same(await edits.undo(), { changed: ['x'] })
  t.same(await edits.undo(), { changed: ['old'] })
  t.same(shown(a), { old: 'theirs', x: 'theirs' })
})

t.test('undoing an edit restores only its own fields, also before the store was read', async (t) => {
  const person = await people.person(t)
  const store = memoryStore()
  const first = person.device('a', { store })
  const opened = bookmark('x', 'opened')
  await first.sync.put([opened, bookmark('y', 'one')])
  await first.sync.update('x', { description: 'of meanwhile' })
  await first.sync.stop()
  const { sync } = person.device('a', { store })
  const edits = undoable(sync)
  const making = edits.put({ ...opened, title: 'form' }, { seen: opened })
  t.same([await edits.undo(), await making], [{ changed: [] }, undefined])
  t.match(sync.get('x'), { title: 'opened', description: 'of meanwhile' })
  await t.rejects(edits.update(['y', 'gone'], { title: 'never' }), RangeError)
  await edits.put({ ...(sync.get('y') as PlaintextBookmark) })
  t.same(edits.steps.read(), { undo: 0, redo: 1 }, 'an edit that failed or changed nothing is not a step')
})

t.test('an import and a restored backup can each be undone in one step', async (t) => {
  const { a, b } = await people.open(t)
  const edits = undoable(a.sync)
  const garbled = '<DL><DT><A HREF="u:1" ADD_DATE="1">\uFFFD</A></DL>'
  await a.sync.importBookmarks(bookmarksIn(garbled))
  const states = [contents(a.sync.bookmarks())]
  const file = '<DL><DT><A HREF="u:1" ADD_DATE="1">ü</A><DT><H3>f</H3><DL><DT><A HREF="u:2">two</A></DL></DL>'
  t.match(await edits.importBookmarks(bookmarksIn(file)), { imported: 2, repaired: { length: 1 } })
  states.push(contents(a.sync.bookmarks()))
  const backup = Object.values(states[1] ?? {}).map((one) => ({ ...one, title: `${one.title} before` }))
  await edits.restoreExport(
    { bookmarks: [...backup, bookmark('lost', 'lost', { position: 'z9' })] },
    { overwrite: true },
  )
  states.push(contents(a.sync.bookmarks()))
  t.equal(a.sync.bookmarks().size, 4)
  t.same(edits.steps.read(), { undo: 2, redo: 0 })
  await sync(a, b)
  for (const state of states.slice(0, -1).toReversed()) {
    t.same(await edits.undo(), { changed: [] })
    t.same(contents(a.sync.bookmarks()), state)
  }
  for (const state of states.slice(1)) {
    t.same(await edits.redo(), { changed: [] })
    t.same(contents(a.sync.bookmarks()), state)
  }
  await edits.importBookmarks(bookmarksIn(file))
  t.same(edits.steps.read(), { undo: 3, redo: 0 }, 'the titles have changed')
  await edits.importBookmarks(bookmarksIn(file))
  t.same(edits.steps.read(), { undo: 3, redo: 0 }, 'an import that adds nothing is not a step')
})

t.test('an edit can be undone while an import runs, which becomes a later step', async (t) => {
  const { a } = await people.open(t)
  const edits = undoable(a.sync)
  await edits.put(bookmark('x', 'edited'))
  const undone: Promise<unknown>[] = []
  const onProgress = (done: number) => {
    if (done === 1) undone.push(edits.undo())
  }
  await edits.importBookmarks(numbered(300), { onProgress })
  t.same(await Promise.all(undone), [{ changed: [] }])
  t.equal(a.sync.bookmarks().size, 300)
  await edits.undo()
  t.same(shown(a), {})
})

t.test('an undo that finds no room can be repeated later; after signing out there is none', async (t) => {
  const { a } = await people.open(t, { a: { disk: () => memoryStore() } })
  const edits = undoable(a.sync)
  await edits.put(bookmark('x', 'one'))
  const { write } = a.store
  a.store.write = async () => {
    throw new Error('No room')
  }
  await t.rejects(edits.undo(), { message: 'No room' })
  a.store.write = write
  t.same(edits.steps.read(), { undo: 1, redo: 0 })
  t.same([await edits.undo(), shown(a)], [{ changed: [] }, {}])
  await a.sync.signOut({ discardUnsent: true })
  t.same(edits.steps.read(), { undo: 0, redo: 0 })
})
