import fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  type Conflict,
  type Meta,
  memoryStore,
  OfflineError,
  type PlaintextBookmark,
  type Row,
  type Store,
} from '../../../src/client/index.ts'
import { keepConflict, rejoinRow } from '../../../src/client/sync/store/conflicts.ts'
import { blankRow } from '../../../src/client/sync/store/row.ts'
import { undoable } from '../../../src/client/undo.ts'
import { depth } from '../../support/depth.ts'
import { pick } from '../../support/pick.ts'
import { Ledger, newerOf, withNewer } from '../chaos/ledger.ts'
import { bookmark, type Device, openPeople, type Person, remove, send, shown, sync, update } from './device.ts'
import { answerLost, changesOf, down, older, up } from './network.ts'
import { disks } from './stores.ts'

const people = await openPeople()
const foreign = { note: 'unknown to this version' }
const original = bookmark('x', 'original', { tags: ['a', 'b'], position: 'a0' })

for (const first of ['the earlier', 'the later']) {
  t.test(`edits of different fields on two devices are merged, without a conflict; ${first} comes first`, async (t) => {
    const { person, a, b } = await edited(t, { title: 'new title' }, { tags: ['b', 'c'], ...foreign })
    const order = first === 'the earlier' ? [a, b, a, b] : [b, a, b, a]
    for (const { sync } of order) await sync.syncNow()
    const merged = { ...original, title: 'new title', tags: ['b', 'c'], ...foreign }
    t.same([a.sync.get('x'), b.sync.get('x')], [merged, merged])
    t.same([a.conflicts, b.conflicts, a.sync.conflicts(), b.sync.conflicts()], [[], [], [], []])
    const pushes = countPushes([a, b])
    for (const { sync } of order) await sync.syncNow()
    t.equal(countPushes([a, b]), pushes, 'no device pushes more than that')
    t.same(await person.stored(), { x: 'new title' })
  })

  t.test(`of two edits of a field the later wins, the loser gets a conflict; ${first} comes first`, async (t) => {
    const { a, b } = await edited(t, { title: "a's", url: 'https://example.com/' }, { title: "b's", tags: ['c'] })
    for (const { sync } of first === 'the earlier' ? [a, b, a, b] : [b, a, b, a]) await sync.syncNow()
    const merged = { ...original, title: "b's", url: 'https://example.com/', tags: ['c'] }
    t.same([a.sync.get('x'), b.sync.get('x')], [merged, merged])
    t.match(a.sync.conflicts(), [{ id: 'x', fields: ['title'], mine: { title: "a's" }, theirs: { title: "b's" } }])
    t.same([a.sync.conflicts().length, a.conflicts, b.sync.conflicts()], [1, a.sync.conflicts(), []])

    await a.sync.resolve('x', 'mine')
    t.same(a.sync.get('x'), { ...merged, title: "a's" }, 'only the lost field comes back')
    await sync(a, b, a)
    t.same([shown(b), a.sync.conflicts(), b.sync.conflicts()], [{ x: "a's" }, [], []])
  })
}

t.test('an edit by a device that had not seen an earlier edit does not undo that edit', async (t) => {
  const { person, a, b } = await edited(t, { title: "a's" }, { description: "b's" })
  b.network.fate = async (call) => {
    if (call.name === 'push') await a.sync.syncNow()
    return older(call)
  }
  await sync(b)
  await person.world.pass(1000)
  await update(a, 'x', { tags: ['c'] }, b)
  const merged = { ...original, title: "a's", description: "b's", tags: ['c'] }
  t.same([a.sync.get('x'), b.sync.get('x'), a.conflicts, b.conflicts], [merged, merged, [], []])
})

const others = { title: "a's", description: "a's", extra: { a: 1 } }

/** `b` moves x twice. Before or after the second move, `a` moves and edits x without having seen the first. */
async function movedTwice(t: Test, { isLast }: { isLast: boolean }) {
  const { person, a, b } = await people.open(t)
  const x = { ...original, description: 'old', extra: { shared: 1 } }
  const folders = ['f', 'g'].map((id) => ({ id, title: id, source: 'bookmarks' as const }))
  await send(a, [...folders, x], b)
  await b.sync.move('x', { parentId: 'f' })
  await sync(b)
  const edit = async (device: Device) => {
    await person.world.pass(1000)
    await device.sync.move('x', { parentId: device === a ? 'g' : undefined })
    if (device === a)
      await a.sync.update('x', ({ tags = [], extra = {} }) => ({
        ...others,
        tags: [...tags, 'c'],
        extra: { ...extra, a: 1 },
      }))
  }
  for (const device of isLast ? [a, b] : [b, a]) await edit(device)
  return { person, a, b, merged: { ...x, ...others, tags: ['a', 'b', 'c'], extra: { shared: 1, a: 1 } } }
}

function withoutPlace(device: Device): Partial<PlaintextBookmark> | undefined {
  const { parentId: _, position: __, ...fields } = device.sync.get('x') as PlaintextBookmark
  return fields
}

for (const isLast of [true, false]) {
  const order = isLast ? 'after' : 'before'
  t.test(
    `two moves on a device, the second ${order} a move with edits on another: only the place conflicts`,
    async (t) => {
      const { a, b, merged } = await movedTwice(t, { isLast })
      await sync(a, b, a)
      const { position: _, ...fields } = merged
      t.same([withoutPlace(a), withoutPlace(b)], [fields, fields])
      const [winner, loser] = isLast ? [b, a] : [a, b]
      const place = isLast ? undefined : 'g'
      t.same([a.sync.get('x')?.parentId, b.sync.get('x')?.parentId], [place, place])
      t.match([loser.conflicts, winner.conflicts], [[{ fields: ['parentId'] }], []])
      t.same(loser.conflicts.length, 1)
      await loser.sync.resolve('x', 'mine')
      await sync(loser, winner)
      t.same([withoutPlace(a), withoutPlace(b)], [fields, fields], '`mine` restores nothing else')
      t.same(a.sync.get('x')?.parentId, isLast ? 'g' : undefined)
      t.same([a.sync.conflicts(), b.sync.conflicts()], [[], []])
    },
  )
}

t.test('a sent edit and an unsent one each lose only the fields that they set, by the time of that edit', async (t) => {
  const { person, a, b } = await edited(t, {}, { title: "b's" })
  b.network.fate = (call) => (changesOf(call).length > 0 ? down(call) : up(call))
  await t.rejects(b.sync.syncNow(), OfflineError)
  await person.world.pass(1000)
  await update(a, 'x', { title: "a's, later", description: "a's", tags: ['a', 'b', 'c'] })
  await person.world.pass(1000)
  await b.sync.update('x', { url: 'https://example.com/', tags: ['b'] })
  b.network.fate = up
  await sync(b, a)
  const merged = { title: "a's, later", description: "a's", url: 'https://example.com/', tags: ['b', 'c'] }
  t.match([a.sync.get('x'), b.sync.get('x')], [merged, merged])
  t.match([a.conflicts, b.conflicts], [[], [{ fields: ['title'], mine: { title: "b's" } }]])
})

t.test("edits in two tabs and undo count as one device's edits, and no other field counts as changed", async (t) => {
  const { person, a, b, merged } = await movedTwice(t, { isLast: true })
  const edits = undoable(b.sync)
  await edits.update('x', { url: 'https://example.com/' })
  await edits.undo()
  const tab = person.device('b', { store: b.store })
  await tab.sync.start()
  await tab.sync.update('x', { dateModified: '2026-11-27T00:00:00.000Z' })
  await tab.sync.stop()
  await sync(a, b, a)
  const { position: _, ...fields } = { ...merged, dateModified: '2026-11-27T00:00:00.000Z' }
  t.same([withoutPlace(a), withoutPlace(b)], [fields, fields])
  t.same([a.conflicts.map(({ fields }) => fields), b.conflicts], [[['parentId']], []])
})

t.test(
  'an edit that was rejected is sent again only with the edits made on it, so that it undoes nothing',
  async (t) => {
    const { person, a, b } = await edited(t, { title: "a's" }, { description: "b's" })
    const titles: unknown[] = []
    let isFirst = true
    b.network.fate = async (call) => {
      if (changesOf(call).length === 0) return up(call)
      if (isFirst) {
        isFirst = false
        await sync(a)
        await b.sync.update('x', { title: "b's, later" })
      }
      const answer = await up(call)
      titles.push((await person.stored()).x)
      return answer
    }
    await sync(b, a)
    t.same(new Set(titles), new Set(["a's", "b's, later"]))
    t.match(
      [a.conflicts, b.conflicts],
      [[{ fields: ['title'], mine: { title: "a's" }, theirs: { title: "b's, later" } }], []],
    )
  },
)

t.test('an edit that arrives between a merge and its push is merged as well', async (t) => {
  const { person, a, b, c } = await people.open(t)
  await send(a, original, b, c)
  await update(a, 'x', { title: "a's" }, c)
  await c.sync.update('x', { description: "c's" })
  await person.world.pass(1000)
  await b.sync.update('x', { title: "b's" })
  let pushes = 0
  b.network.fate = async (call) => {
    if (call.name === 'push' && ++pushes === 2) await sync(c)
    return up(call)
  }
  await sync(b, a, c)
  const expected = { ...original, title: "b's", description: "c's" }
  t.same(
    [a, b, c].map(({ sync }) => sync.get('x')),
    [expected, expected, expected],
  )
  // c had edited a's version.
  t.match(c.conflicts, [{ fields: ['title'], mine: { title: "a's" }, theirs: { title: "b's" } }])
  t.same([a.conflicts, b.conflicts, c.conflicts.length], [[], [], 1])
})

t.test('an overwritten edit is reported to a device that edited it further, also after a clean merge', async (t) => {
  const { person, a, b } = await edited(t, {}, { title: "b's" })
  const c = person.device('c')
  await person.world.pass(1000)
  await a.sync.update('x', { title: "a's" })
  await sync(b)
  a.network.fate = (call) => (call.name === 'push' ? down(call) : up(call))
  await t.rejects(a.sync.syncNow(), OfflineError)
  await sync(c)
  await update(c, 'x', { tags: ['c'] })
  a.network.fate = up
  await sync(a, b, c)
  const shown = [a, b, c].map(({ sync }) => sync.get('x'))
  t.match(shown, Array(3).fill({ title: "a's", tags: ['c'] }))
  t.match(c.sync.conflicts(), [{ fields: ['title'], mine: { title: "b's" } }])
})

/** `a` sends an edit and goes offline. `b`, which has not seen that edit, overwrites it. */
async function overwritten(t: Test, store: Store) {
  const { person, b } = await people.open(t)
  const a = person.device('a', { store })
  await send(a, bookmark('x', 'original'), b)
  const before = await store.load()
  await b.sync.update('x', { title: "b's" })
  await update(a, 'x', { title: "a's" })
  const edited = await store.load()
  await person.world.pass(1000)
  await update(b, 'x', { title: "b's, later" })
  const open = async () => (await person.user.call('GET', '/api/v1/sync/status')).body.conflict_count
  t.equal(await open(), 1)
  return { person, before, edited, open }
}

t.test('a conflict names all that lost of several edits in a row, and `mine` puts it back', async (t) => {
  const { person, a, b } = await edited(t, { title: "a's" }, {})
  await sync(a)
  await person.world.pass(1000)
  await update(a, 'x', { description: "a's" })
  await person.world.pass(1000)
  await update(b, 'x', { title: "b's", description: "b's" }, a)
  t.match(a.conflicts, [{ fields: ['title', 'description'] }])
  await a.sync.resolve('x', 'mine')
  await sync(a, b)
  t.match(b.sync.get('x'), { title: "a's", description: "a's" })
})

for (const hasSeen of [false, true]) {
  const whose = hasSeen ? 'without edits of a third that it had seen' : 'with unseen earlier edits of a third'
  t.test(`an overwritten edit is reported to its device, ${whose}`, async (t) => {
    const { person, a, b, c } = await people.open(t)
    await send(a, original, b, c)
    await a.sync.update('x', { description: "a's" })
    await sync(a, b, ...(hasSeen ? [c] : []))
    await update(b, 'x', { title: "b's" })
    await person.world.pass(1000)
    await update(c, 'x', { title: "c's", description: "c's" }, a, b)
    t.same([a.conflicts, c.conflicts], [[], []])
    t.match(b.conflicts, [{ fields: hasSeen ? ['title'] : ['title', 'description'] }])
    await b.sync.resolve('x', 'mine')
    await sync(b, c, a)
    const kept = { title: "b's", description: hasSeen ? "c's" : "a's" }
    t.match(
      [a, b, c].map(({ sync }) => sync.get('x')),
      Array(3).fill(kept),
    )
  })
}

t.test('if a merged version is overwritten, the conflict has all that was merged into it', async (t) => {
  const { person, a, b, c } = await people.open(t)
  await send(a, original, b, c)
  for (const [device, fields] of [
    [a, { description: "a's", url: 'https://example.org/a' }],
    [b, { description: "b's" }],
    [c, { description: "c's", url: 'https://example.org/c' }],
  ] as const) {
    await person.world.pass(1000)
    await update(device, 'x', fields)
  }
  await sync(b, a)
  const [told] = b.conflicts
  t.match(told?.mine, { description: "b's", url: 'https://example.org/a' })
  t.same([told?.fields.toSorted(), b.conflicts.length], [['description', 'url'], 1])
})

t.test(
  'a lost edit of a history entry is reported with its base, although the service keeps no versions of it',
  async (t) => {
    const person = await people.person(t)
    const devices = ['a', 'b', 'c'].map((id) => person.device(id, { types: ['history'] })) as [Device, Device, Device]
    const [a, b, c] = devices
    const edit = async ({ sync }: Device, fields: Partial<PlaintextBookmark>) => {
      await person.world.pass(1000)
      await sync.history.put({ ...bookmark('x', 'original'), source: 'history', ...sync.history.get('x'), ...fields })
    }
    await edit(a, {})
    await sync(...devices)
    await edit(a, { description: "a's" })
    await sync(a, b)
    await edit(b, { url: 'https://example.org/b' })
    await edit(c, { description: "c's" })
    await sync(b, c, b, a)
    for (const { sync } of devices) t.match(sync.history.get('x'), { description: "c's", url: 'https://example.org/b' })
    t.match(b.conflicts, [{ id: 'x', entityType: 'history', fields: ['description'], mine: { description: "a's" } }])
    t.same([a.conflicts, b.conflicts.length, c.conflicts], [[], 1, []])
  },
)

t.test('a lost edit is reported to an older copy of the store that has forgotten a later edit', async (t) => {
  const person = await people.person(t)
  const types = { types: ['history'] as const }
  const [a, b] = [person.device('a', types), person.device('b', types)]
  const edit = async ({ sync }: Device, description: string) => {
    await person.world.pass(1000)
    await sync.history.put({ ...bookmark('x', 'title'), source: 'history', description })
  }
  await edit(a, 'known')
  await sync(a)
  const store = memoryStore()
  const { rows, meta } = await a.store.load()
  await store.write(rows, meta as Meta)
  await edit(a, 'forgotten')
  await sync(a)
  await edit(b, 'created unseen')
  const older = person.device('a', { ...types, store })
  await sync(b, older)
  t.match(older.conflicts, [{ entityType: 'history', mine: { description: 'known' } }])
  t.same([older.conflicts.length, b.conflicts], [1, []])
})

for (const [waits, isAnswered] of [
  ['is made', true],
  ['waits for its answer', false],
] as const) {
  t.test(
    `an edit overwritten unseen is reported with the version that it was based on, while another ${waits}`,
    async (t) => {
      const { person, a, b, c } = await people.open(t)
      await send(a, original, b, c)
      await update(a, 'x', { title: "a's" }, b)
      if (!isAnswered) b.network.fate = (call) => (changesOf(call).length > 0 ? answerLost(call) : up(call))
      const sent = update(b, 'x', { description: "b's" })
      await (isAnswered ? sent : t.rejects(sent, OfflineError))
      b.network.fate = up
      await person.world.pass(1000)
      await update(c, 'x', { title: "c's" })
      await b.sync.update('x', { tags: ['b'] })
      await sync(b, a, c)
      const shown = [a, b, c].map(({ sync }) => sync.get('x'))
      t.match(shown, Array(3).fill({ title: "c's", description: "b's", tags: ['b'] }))
      t.match(b.conflicts, [{ fields: ['title'], mine: { title: "a's" }, theirs: { title: "c's" } }])
      t.same([a.conflicts, b.conflicts.length, c.conflicts], [[], 1, []])
      await b.sync.resolve('x', 'mine')
      await sync(b, c)
      t.match(c.sync.get('x'), { title: "a's", description: "b's", tags: ['b'] })
    },
  )
}

for (const isDelete of [true, false]) {
  const what = isDelete ? 'a delete' : 'an edit of the same field'
  t.test(`a merge is not an edit: ${what} after both edits wins, even if it came before the merge`, async (t) => {
    const { person, a, b } = await edited(t, { description: "a's" }, { title: "b's" })
    const c = person.device('c')
    await sync(c)
    await person.world.pass(1000)
    if (isDelete) await c.sync.remove('x')
    else await c.sync.update('x', { title: "c's" })
    await person.world.pass(1000)
    await sync(b, a, c, b, a)
    const expected = isDelete ? undefined : { title: "c's", description: "a's" }
    for (const { sync } of [a, b, c]) t.match(sync.get('x'), expected)
    t.same(c.conflicts, [])
  })
}

for (const when of ['', ', and edited before that was answered', ', and edited once it was sent']) {
  t.test(`a bookmark made here loses all fields to another made elsewhere under the same id${when}`, async (t) => {
    const { person, a, b } = await people.open(t)
    await b.sync.syncNow()
    await send(a, bookmark('star', "a's", { description: "a's" }))
    await update(a, 'star', { tags: ['a'] })
    await person.world.pass(1000)
    await b.sync.put(bookmark('star', "b's", { description: "b's" }))
    if (when.endsWith('answered')) {
      b.network.fate = (call) => (call.name === 'push' ? answerLost(call) : up(call))
      await t.rejects(b.sync.syncNow(), OfflineError)
    } else if (when) await sync(b)
    if (when) await b.sync.update('star', { title: "b's again" })
    b.network.fate = up
    await sync(b, a)
    t.same(new Set(a.conflicts[0]?.fields), new Set(['title', 'description', 'tags']))
    await a.sync.resolve('star', 'mine')
    await sync(a, b)
    t.match(b.sync.get('star'), { title: "a's", description: "a's", tags: ['a'] })
  })
}

for (const isImported of [false, true]) {
  const outcome = isImported ? 'silently if it was imported, too' : 'and this is reported if a person had set it'
  t.test(`a bookmark made here loses a field to an edit of the same one imported elsewhere, ${outcome}`, async (t) => {
    const { person, a, b } = await people.open(t)
    await b.sync.syncNow()
    const made = bookmark('star', "a's", { description: "a's" })
    await (isImported ? a.sync.importBookmarks([made]) : a.sync.put(made))
    await sync(a)
    await update(a, 'star', { tags: ['a'] })
    await person.world.pass(1000)
    await b.sync.importBookmarks([bookmark('star', "a file's")])
    await b.sync.update('star', { title: "b's" })
    await sync(b, a, b)
    t.match(b.sync.get('star'), { title: "b's", description: "a's", tags: ['a'] })
    t.same(
      a.conflicts.map(({ fields }) => fields),
      isImported ? [] : [['title']],
    )
  })
}

t.test('a bookmark deleted and made again here loses all fields to an edit that had seen neither', async (t) => {
  const { person, a, b } = await edited(t, {}, {})
  await remove(a, 'x')
  await send(a, bookmark('x', "a's", { description: "a's" }))
  await update(a, 'x', { tags: ['a'] })
  await person.world.pass(1000)
  await send(b, bookmark('x', "b's", { description: "b's" }), a)
  t.same(new Set(a.conflicts[0]?.fields), new Set(['title', 'description', 'tags']))
  await a.sync.resolve('x', 'mine')
  await sync(a, b)
  t.match(b.sync.get('x'), { title: "a's", description: "a's", tags: ['a'] })
})

t.test('the conflict on the service ends once the device has stored the loss for its user', async (t) => {
  const { person, edited, open } = await overwritten(t, memoryStore())
  const store = memoryStore()
  await store.write(edited.rows, edited.meta as Meta)
  const a = person.device('a', { store })
  a.network.fate = (call) => (call.name === 'settleConflict' ? down(call) : up(call))
  await sync(a)
  t.match(a.conflicts, [{ mine: { title: "a's" }, theirs: { title: "b's, later" } }])
  t.equal(await open(), 1, 'the device could not settle it yet')
  await a.sync.stop()
  const again = person.device('a', { store })
  await sync(again)
  t.same([await open(), again.conflicts], [0, []])
})

t.test('a store without the edit settles no conflict, whether it is new or an older copy', async (t) => {
  const { person, before, open } = await overwritten(t, memoryStore())
  const older = memoryStore()
  await older.write(before.rows, before.meta as Meta)
  for (const store of [memoryStore(), older]) {
    const a = person.device('a', { store })
    await sync(a, a)
    t.same([shown(a), a.conflicts, await open()], [{ x: "b's, later" }, [], 1])
  }
})

t.test('a conflict has the edits from before and after the store was lost', async (t) => {
  const { person, a, b } = await people.open(t)
  await send(a, original, b)
  await update(a, 'x', { title: "a's" })
  const again = person.device('a')
  await sync(again)
  await update(again, 'x', { description: "a's" })
  await update(again, 'x', { tags: ['a'] })
  await person.world.pass(1000)
  await update(b, 'x', { title: "b's" }, again)
  t.match(again.sync.get('x'), { title: "b's", description: "a's", tags: ['a'] })
  t.match(again.conflicts, [{ fields: ['title'], mine: { title: "a's" }, theirs: { title: "b's" } }])
})

t.test('edits in an older copy of the store are merged with those that it has forgotten', async (t) => {
  const { b, older, conflicts } = await wentBack(t, ({ sync }) => {
    return sync.update('x', { title: 'forgotten', url: 'https://example.com/' })
  })
  await update(older, 'x', { title: 'new', description: 'new' }, b)
  const merged = { ...original, title: 'new', url: 'https://example.com/', description: 'new' }
  t.same([older.sync.get('x'), b.sync.get('x')], [merged, merged])
  t.match(conflicts(), [[{ fields: ['title'], mine: { title: 'forgotten' }, theirs: { title: 'new' } }], []])
})

t.test('in an older copy of the store, undoing a forgotten edit or delete is reported', async (t) => {
  const edit = await wentBack(t, ({ sync }) => sync.update('x', { title: 'forgotten' }))
  await edit.older.sync.remove('x')
  const remove = await wentBack(t, ({ sync }) => sync.remove('x'))
  await remove.older.sync.update('x', { title: 'new' })
  await sync(edit.older, edit.b, remove.older, remove.b)
  t.same([shown(edit.b), shown(remove.b)], [{}, { x: 'new' }])
  t.match(edit.conflicts(), [[{ fields: [], mine: { title: 'forgotten' }, theirs: null }], []])
  t.match(remove.conflicts(), [[{ fields: [], mine: null, theirs: { title: 'new' } }], []])
})

/** `a` does something and sends it. Then its store is put back to the copy from before. */
async function wentBack(t: Test, act: (a: Device) => Promise<void>) {
  const { person, a, b } = await edited(t, {}, {})
  const store = memoryStore()
  const { rows, meta } = await a.store.load()
  await store.write(rows, meta as Meta)
  await act(a)
  await sync(a)
  await person.world.pass(1000)
  const older = person.device('a', { store })
  return { b, older, conflicts: () => [older.conflicts, b.conflicts] }
}

t.test('an edit that loses on arrival is reported and settled', async (t) => {
  const { person, a, b } = await edited(t, { title: "a's" }, { title: "b's" })
  const push = a.network.hold('push')
  const sending = a.sync.syncNow()
  await sync(b)
  push.release()
  await sending
  t.match(a.conflicts, [{ fields: ['title'], mine: { title: "a's" } }])
  t.equal((await person.user.call('GET', '/api/v1/sync/status')).body.conflict_count, 0)
})

t.test('an edit that loses to a delete is kept and can be restored', async (t) => {
  const { person, a, b } = await edited(t, { title: "a's" }, {})
  await b.sync.remove('x')
  await sync(a, b, a)
  t.same([shown(a), shown(b)], [{}, {}])
  t.match(a.sync.conflicts(), [{ id: 'x', fields: [], mine: { title: "a's" }, theirs: null }])
  await a.sync.resolve('x', 'mine')
  await sync(a)
  t.same([await person.stored(), a.sync.conflicts()], [{ x: "a's" }, []])
})

t.test('a delete that loses to an edit is reported, too', async (t) => {
  const { a, b } = await edited(t, {}, { title: "b's" })
  await a.sync.remove('x')
  await update(b, 'x', { title: "b's, later" }, a)
  t.same([shown(a), shown(b)], Array(2).fill({ x: "b's, later" }))
  t.match(a.sync.conflicts(), [{ id: 'x', fields: [], mine: null, theirs: { title: "b's, later" } }])
})

t.test('if a merged bookmark is too large, the sync goes on and the losing edit is kept', async (t) => {
  const { a, b } = await edited(t, { description: 'x'.repeat(120_000) }, { favicon: 'y'.repeat(120_000) })
  await sync(b, a, b)
  t.same([a.sync.status().waiting, a.sync.get('x')?.favicon?.length], [0, 120_000])
  t.match(a.sync.conflicts(), [{ mine: { description: /^x{100}/ } }])
  t.same(a.sync.conflicts()[0]?.fields, ['description'])
})

t.test('a merge that is too large, and is overwritten with its base, is reported with the base', async (t) => {
  const { person, a, b } = await edited(t, { title: "a's" }, { url: 'https://example.com/' })
  const c = person.device('c')
  await sync(c)
  await person.world.pass(1000)
  c.network.fate = async (call) => {
    if (changesOf(call).length > 0) await sync(a, b)
    return older(call)
  }
  await update(c, 'x', { favicon: 'y'.repeat(120_000) })
  await b.sync.update('x', { description: 'x'.repeat(120_000) })
  await sync(b)
  const lost = b.conflicts.map(({ fields, mine }) => [fields.toSorted(), mine?.title, mine?.url])
  t.same(lost, [[['description', 'favicon', 'title', 'url'], "a's", 'https://example.com/']])
  t.match(b.sync.get('x'), { title: 'original', favicon: /^y{100}/ })
})

t.test('saving a form merges other fields changed meanwhile; a change of the same field is a conflict', async (t) => {
  const { a, b } = await edited(t, {}, { url: 'https://example.com/', title: "b's" })
  const form = a.sync.get('x') as PlaintextBookmark
  await sync(b, a)
  await a.sync.put({ ...form, title: 'from the form' }, { seen: form })
  t.match(a.sync.get('x'), { title: 'from the form', url: 'https://example.com/' })
  t.match(a.sync.conflicts(), [{ fields: ['title'], mine: { title: "b's" }, theirs: { title: 'from the form' } }])
  await sync(a, b)
  t.same(b.sync.conflicts(), [], 'the conflict is reported once')
  await a.sync.resolve('x', 'mine')
  t.match(a.sync.get('x'), { title: "b's", url: 'https://example.com/' })
})

t.test('saving a form over a delete brings the bookmark back, and the delete is a conflict', async (t) => {
  const { person, a, b } = await edited(t, {}, {})
  const form = a.sync.get('x') as PlaintextBookmark
  await remove(b, 'x', a)
  await a.sync.put({ ...form, title: 'from the form' }, { seen: form })
  t.match(a.conflicts, [{ id: 'x', fields: [], mine: null, theirs: { title: 'from the form' } }])
  await sync(a, b)
  t.same([shown(b), b.conflicts], [{ x: 'from the form' }, []], 'the conflict is reported once')
  await a.sync.resolve('x', 'mine')
  await sync(a)
  t.same([await person.stored(), a.sync.conflicts()], [{}, []])
})

for (const [where, makeDisk] of Object.entries(disks)) {
  t.test(`conflicts survive a reload until the user decides, with a store ${where}`, async (t) => {
    const disk = makeDisk()
    const { person, a } = await conflicted(t, disk)
    t.match(a.sync.status(), { conflicts: 1 })
    const kept = a.sync.conflicts()
    await a.sync.stop()

    const again = person.device('a', { store: disk(person.user.userId) })
    await again.sync.start()
    t.same([kept.length, again.sync.conflicts(), again.sync.status().conflicts], [1, kept, 1])
    await again.sync.resolve('x', 'theirs')
    t.same([again.sync.conflicts(), again.sync.status().conflicts], [[], undefined])
    t.same([shown(again), again.sync.status().waiting], [{ x: "b's" }, 0])
    await again.sync.stop()

    const last = person.device('a', { store: disk(person.user.userId) })
    await last.sync.start()
    t.same(last.sync.conflicts(), [], 'the decision survives a reload')
  })
}

t.test('a conflict ends when the bookmark has the lost values again', async (t) => {
  const { a } = await conflicted(t)
  await a.sync.update('x', { tags: ['c'] })
  t.equal(a.sync.conflicts().length, 1)
  await a.sync.update('x', { title: "a's" })
  t.same(a.sync.conflicts(), [])
})

for (const patch of [{ title: "b's, later" }, null]) {
  t.test(`\`mine\` over ${patch ? 'an edit' : 'a delete'} that the user had not seen is a new conflict`, async (t) => {
    const { a, b } = await conflicted(t)
    const [shown] = a.sync.conflicts() as [Conflict]
    await (patch ? b.sync.update('x', patch) : b.sync.remove('x'))
    await sync(b, a)
    await a.sync.resolve(shown, 'mine')
    t.equal(a.sync.get('x')?.title, "a's")
    const lost = patch ? { fields: ['title'], mine: patch } : { fields: [], mine: null }
    t.match(a.sync.conflicts(), [{ ...lost, theirs: { title: "a's" } }])
    t.equal(a.sync.conflicts().length, 1)
    await a.sync.resolve('x', 'mine')
    t.same([a.sync.get('x')?.title, a.sync.conflicts()], [patch?.title, []], 'the losing edit can be restored')
  })
}

t.test('a later edit that `mine` overwrites by deleting or restoring is reported as a conflict', async (t) => {
  const remove = await edited(t, {}, { title: "b's" })
  await remove.a.sync.remove('x')
  await remove.b.sync.update('x', { title: "b's, later" })
  const edit = await edited(t, { title: "a's" }, {})
  await edit.b.sync.remove('x')
  for (const { a, b } of [remove, edit]) {
    await sync(b, a)
    await send(b, { ...original, title: 'the last' }, a)
    await a.sync.resolve('x', 'mine')
  }
  t.match(remove.a.sync.conflicts(), [{ fields: [], mine: { title: 'the last' }, theirs: null }])
  t.match(edit.a.sync.conflicts(), [{ fields: ['title'], mine: { title: 'the last' }, theirs: { title: "a's" } }])
  t.same([shown(remove.a), shown(edit.a)], [{}, { x: "a's" }])
})

t.test("`mine` over this tab's own later edit or over a later conflict's version makes no conflict", async (t) => {
  const { person, a, b } = await conflicted(t)
  await a.sync.update('x', { title: "a's, later" })
  await person.world.pass(1000)
  await update(b, 'x', { title: "b's, later" }, a)
  t.equal(a.sync.conflicts().length, 2)
  await a.sync.resolve('x', 'mine')
  t.same([shown(a), a.sync.conflicts()], [{ x: "a's, later" }, []])
  const own = await conflicted(t)
  await own.a.sync.update('x', { title: "a's, later" })
  await own.a.sync.resolve('x', 'mine')
  t.same([shown(own.a), own.a.sync.conflicts()], [{ x: "a's" }, []])
})

async function conflictedTwice(t: Test) {
  const { person, a, b } = await conflicted(t)
  await a.sync.update('x', { url: 'https://example.com/a' })
  await person.world.pass(1000)
  await b.sync.update('x', { url: 'https://example.com/b' })
  await sync(a, b, a)
  t.same(pick(a.sync.conflicts(), 'fields'), [['title'], ['url']])
  return a
}

t.test('several conflicts of a bookmark are all kept and resolved one by one', async (t) => {
  const a = await conflictedTwice(t)
  const [title, url] = structuredClone(a.sync.conflicts()) as [Conflict, Conflict]
  await a.sync.resolve(url, 'mine')
  t.match(a.sync.get('x'), { title: "b's", url: 'https://example.com/a' })
  t.same(a.sync.conflicts(), [title], 'the unresolved conflict stays')
  await a.sync.resolve(title, 'theirs')
  await a.sync.resolve(title, 'mine')
  t.match([a.sync.get('x'), a.sync.conflicts()], [{ title: "b's" }, []], 'a resolved conflict cannot be resolved again')
})

t.test('several conflicts of a bookmark can be resolved together', async (t) => {
  const a = await conflictedTwice(t)
  await a.sync.resolve('x', 'mine')
  t.match(a.sync.get('x'), { title: "a's", url: 'https://example.com/a' })
  t.same(a.sync.conflicts(), [])
})

t.test('a store that was written before conflicts were kept is read as one without', async (t) => {
  const person = await people.person(t)
  const store = memoryStore()
  const a = person.device('a', { store })
  await a.sync.put(original)
  await a.sync.stop()
  const old: Store = { ...store, load: () => aged(store.load()), read: (ids) => aged(store.read(ids)) }
  const again = person.device('a', { store: old })
  await update(again, 'x', { title: 'two' })
  t.same([await person.stored(), again.sync.conflicts()], [{ x: 'two' }, []])
})

t.test('if devices overwrite each other again and again, the last hundred conflicts are kept', async (t) => {
  const lost = { id: 'x', fields: ['title'], mine: null, theirs: original }
  const all = Array.from({ length: 150 }, (_, turn) => ({ ...lost, turn }))
  t.same(all.reduce(keepConflict, blankRow('x')).conflicts, all.slice(-100))
  const [copy, stored] = [all.slice(0, 100), all.slice(50)].map((conflicts) => ({ ...blankRow('x'), conflicts }))
  t.same(rejoinRow(copy as Row, stored, undefined)[0]?.row.conflicts, all.slice(-100), 'also after an emptying')
})

t.test('the ledger lets a store that went back repeat edits that it takes for unsent, and nothing else', async (t) => {
  for (const waiting of [['x'], ['other']]) {
    const ledger = new Ledger()
    ledger.begin('a', 'x', original, undefined)('kept')
    ledger.goBack('a', ledger.length, [], waiting)
    const mine = { ...original, title: "b's" }
    ledger.begin('b', 'x', { title: mine.title }, original)('kept')
    ledger.tell({ id: 'x', mine, theirs: original, fields: ['title'] })
    ledger.keep({ id: 'x', mine })
    t.match(ledger.faults(new Map()), waiting[0] === 'x' ? [] : [{ undone: ['title'] }])
  }
})

t.test('the ledger accepts that a service forgets a record only if its device has removed the type', async (t) => {
  for (const types of [['history'], ['bookmark']] as const) {
    const ledger = new Ledger()
    ledger.backUp()
    ledger.begin('a', 'x', { title: 'one' }, undefined)('kept')
    ledger.arrive('a', 'x', bookmark('x', 'one'), 'a')
    ledger.takeTypes('a', types)
    ledger.restore()
    t.equal(ledger.faults(new Map()).length, types[0] === 'history' ? 0 : 1)
  }
})

const step = fc.record({
  on: fc.constantFrom('a', 'b', 'c'),
  what: fc.constantFrom('title', 'description', 'tag', 'newer', 'import', 'remove', 'nothing'),
  isSent: fc.boolean(),
})

t.test('whatever three devices make, import and edit, each loss is reported, and a last delete wins', async (t) => {
  const property = fc.asyncProperty(fc.boolean(), fc.array(step, { maxLength: 12 }), async (isThere, steps) => {
    const person = await people.person(t)
    const devices = { a: person.device('a'), b: person.device('b'), c: person.device('c') }
    const ledger = new Ledger()
    const { a, b, c } = devices
    if (isThere) {
      ledger.begin('a', 'x', original, undefined)('kept')
      await send(a, original, b, c)
    }
    for (const { sync } of [a, b, c]) {
      sync.on('conflict', (conflict) => {
        ledger.keep(conflict)
        ledger.tell(conflict)
      })
    }
    const exchange = async (device: Device) => {
      await person.world.pass(1000)
      await device.sync.syncNow()
      await device.sync.approveDeletions(device.sync.status().heldDeletions?.count ?? 0)
    }
    const patchOf = (what: string, value: string, { tags = [], ...saw }: PlaintextBookmark) => {
      if (what === 'newer') return withNewer({ ...newerOf(saw), [value]: value })
      return what === 'tag' ? { tags: [...tags, value] } : { [what]: value }
    }
    let isGone = false
    const edit = async ({ id, sync }: Device, what: string, value: string) => {
      const saw = sync.get('x')
      if (what === 'remove') {
        // Deleting a bookmark that was never sent just cancels it.
        if (!saw || !isThere) return
        isGone = true
        ledger.begin(id, 'x', null, saw)('kept')
        await sync.remove('x')
      } else if (what === 'import' && (saw || isThere)) {
        return
      } else if (saw) {
        isGone = false
        const patch = patchOf(what, value, saw)
        ledger.begin(id, 'x', patch, saw)('kept')
        await sync.update('x', patch)
      } else if (!isThere) {
        const made = { ...original, title: value, url: value, tags: [value], ...withNewer({ [value]: value }) }
        const yields = what === 'import' && { yields: true as const }
        ledger.begin(id, 'x', made, undefined, yields || {})('kept')
        await (yields ? sync.importBookmarks([made]) : sync.put(made))
      }
    }
    for (const [index, { on, what, isSent }] of steps.entries()) {
      await person.world.pass(1000)
      if (what !== 'nothing') await edit(devices[on], what, `${what} ${index}`)
      if (isSent) await exchange(devices[on])
    }
    for (const device of [a, b, c, a, b, c, a, b, c]) await exchange(device)
    const final = [a, b, c].map(({ sync }) => new Map(sync.bookmarks()))
    t.same([final[1], final[2]], [final[0], final[0]])
    if (isGone && final[0]?.size !== 0) throw new Error('a last delete has lost')
    // An edit that restores a deleted bookmark restores all fields, which the ledger does not know.
    const faults = isThere && steps.some(({ what }) => what === 'remove') ? [] : ledger.faults(final[0] ?? new Map())
    if (faults.length > 0) throw new Error(JSON.stringify(faults))
  })
  await t.resolves(fc.assert(property, { numRuns: depth(12, 3000) }))
})

/** Two devices that have both edited the same bookmark, a before b, and have not sent it. */
async function edited(
  t: Test,
  fieldsOfA: Partial<PlaintextBookmark>,
  fieldsOfB: Partial<PlaintextBookmark>,
  storeOfA: (userId: string) => Store = memoryStore,
): Promise<{ person: Person; a: Device; b: Device }> {
  const person = await people.person(t)
  const [a, b] = [person.device('a', { store: storeOfA(person.user.userId) }), person.device('b')]
  await send(a, original, b)
  await a.sync.update('x', fieldsOfA)
  await person.world.pass(1000)
  await b.sync.update('x', fieldsOfB)
  return { person, a, b }
}

/** Like `edited`, but both have synced, and a has lost its title to b. */
async function conflicted(t: Test, storeOfA?: (userId: string) => Store): ReturnType<typeof edited> {
  const devices = await edited(t, { title: "a's" }, { title: "b's" }, storeOfA)
  for (const { sync } of [devices.b, devices.a]) await sync.syncNow()
  return devices
}

async function aged<T extends { rows: Row[] }>(stored: Promise<T>): Promise<T> {
  const { rows, ...rest } = await stored
  return { ...rest, rows: rows.map(({ conflicts: _, ...row }) => row) } as unknown as T
}

function countPushes(devices: Device[]): number {
  return devices.reduce((sum, { network }) => sum + network.count('push'), 0)
}
