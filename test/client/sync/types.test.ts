import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { removedPage, wholeHistory } from '../../../src/client/bookmark/removed-page.ts'
import { resultOf } from '../../../src/client/database.ts'
import {
  historyId,
  indexedDbStore,
  memoryStore,
  type PlaintextBookmark,
  StorageFullError,
  UnsentChangesError,
} from '../../../src/client/index.ts'
import { fileStore } from '../../../src/client/node/file-store.ts'
import { change, pushMany } from '../../support/changes.ts'
import { depth } from '../../support/depth.ts'
import { bookmark, type Device, online, openPeople, openVault, send, shown, sync } from './device.ts'
import { changesOf, down, refused, up } from './network.ts'
import { disks, once } from './stores.ts'

/** Tab groups and history next to the bookmarks, in one sync. */

const people = await openPeople()
const all = ['bookmark', 'group', 'history'] as const
const withAll = { types: all }

function group(id: string, title: string, fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark {
  return { id, title, source: 'groups', ...fields }
}

function entry(id: string, minutes: readonly number[], fields: Partial<PlaintextBookmark> = {}): PlaintextBookmark {
  const visits = minutes.map((minute) => `2026-11-21T08:${minute}:00.000Z`).reverse()
  const [dateVisited = '', dateAdded = ''] = [visits[0], visits.at(-1)]
  const url = `https://example.org/${id}`
  return { id, title: id, source: 'history', url, dateAdded, dateVisited, visits, visitCount: visits.length, ...fields }
}

/** The titles of all three types. */
function titlesByType({ sync: { bookmarks, groups, history } }: Device) {
  return [bookmarks(), groups.records(), history.records()].map((map) =>
    [...map.values()].map(({ title }) => title).sort(),
  )
}

async function open(t: Test) {
  const { person, a, b } = await people.open(t, { a: withAll, b: withAll })
  return { person, a, b }
}

t.test('Records of three types may share an id; a device that wants bookmarks gets only those', async (t) => {
  const { person, a, b } = await open(t)
  const c = person.device('c')
  a.network.fate = down
  await a.sync.put(bookmark('x', 'mark'))
  await a.sync.groups.put([
    group('x', 'group', { color: 'blue' }),
    group('y', 'tab', { url: 'https://a.example', parentId: 'x' }),
  ])
  await a.sync.history.put(entry('x', [10]))
  t.same(titlesByType(a), [['mark'], ['group', 'tab'], ['x']], 'all are visible at once, without a network')
  t.match([a.sync.isWaiting('y'), a.sync.groups.isWaiting('y'), a.sync.status().waiting], [false, true, 4])
  a.network.fate = up
  await sync(a, b, c)
  t.same([titlesByType(b), titlesByType(c)], [titlesByType(a), [['mark'], [], []]])
  t.same([(await c.store.load()).rows.map(({ id }) => id), c.errors], [['x'], []], 'nothing else is stored')
  t.match(b.sync.groups.tree(), [{ bookmark: { id: 'x', color: 'blue' }, children: [{ bookmark: { id: 'y' } }] }])
  t.same(b.sync.groups.contents('x'), ['y'])
  t.same([b.sync.tree().length, b.sync.history.get('x')?.position], [1, undefined])

  await b.sync.groups.put(group('z', 'second'))
  await b.sync.groups.move('z', { before: 'x' })
  await b.sync.groups.update('x', { title: 'renamed' })
  await b.sync.history.remove('x')
  await b.sync.remove('x')
  await sync(b, a, c)
  t.same([titlesByType(a), shown(c)], [[[], ['renamed', 'second', 'tab'], []], {}])
  t.same(a.sync.groups.contents(), ['z', 'x'])
  const found = await a.sync.groups.search('tab')
  t.same([found.map(({ id }) => id), await a.sync.search('tab')], [['y'], []])
  t.same(a.sync.conflicts(), [])
})

t.test('Changes of a type have their own event, and selections and other tabs follow them', async (t) => {
  const { a, b } = await open(t)
  const heard: unknown[] = []
  a.sync.on('groups', (event) => heard.push(['groups', event]))
  a.sync.on('history', (event) => heard.push(['history', event]))
  const tabs = a.sync.select(({ groups }) => groups.contents('g'))
  let told = 0
  tabs.subscribe(() => told++)
  await b.sync.groups.put([group('g', 'work'), group('x', 'tab', { url: 'https://a.example', parentId: 'g' })])
  await b.sync.history.put(entry('h', [10]))
  await sync(b, a)
  t.same(heard, [
    ['groups', { ids: ['g', 'x'], origin: 'remote' }],
    ['history', { ids: ['h'], origin: 'remote' }],
  ])
  t.same([a.changes, tabs.read(), told], [[], ['x'], 1])
})

t.test('Visits on two devices are merged without a conflict; a title may conflict, which names the type', async (t) => {
  const { person, a, b } = await open(t)
  await a.sync.history.put(entry('h', [10]))
  await sync(a, b)
  await a.sync.history.put(entry('h', [10, 12], { title: 'of a' }))
  await person.world.pass(1000)
  await b.sync.history.put(entry('h', [10, 11], { title: 'of b' }))
  await sync(b, a, b, a)
  const merged = entry('h', [10, 11, 12], { title: 'of b' })
  t.same([a.sync.history.get('h'), b.sync.history.get('h')], [merged, merged])
  const conflict = {
    id: 'h',
    entityType: 'history',
    fields: ['title'],
    mine: { title: 'of a' },
    theirs: { title: 'of b' },
  }
  t.match([a.sync.conflicts(), b.sync.conflicts()], [[conflict], []])
  await a.sync.resolve(a.sync.conflicts()[0] as never, 'mine')
  await sync(a, b)
  t.match([b.sync.history.get('h'), a.sync.conflicts()], [{ ...merged, title: 'of a' }, []])
})

t.test('Records that their type does not allow are refused before anything is stored', async (t) => {
  const { person, a } = await open(t)
  const c = person.device('c', { types: ['bookmark', 'history'] })
  await t.rejects(c.sync.groups.put(group('x', '')), RangeError("The sync's types lack group"))
  await t.rejects(c.sync.groups.move('x', {}), RangeError)
  const none = person.device('none', { types: ['group'] })
  await t.rejects(none.sync.importBookmarks([bookmark('x', '')]), RangeError)
  await t.rejects(a.sync.groups.put(bookmark('x', '')), { name: 'RecordError', fault: 'malformed' })
  await a.sync.history.put(entry('x', [10]))
  await t.rejects(a.sync.history.update('x', { source: 'groups' }), { name: 'RecordError', fault: 'malformed' })
  await t.rejects(a.sync.put({ ...group('history\tx', ''), source: 'history' }), {
    name: 'RecordError',
    fault: 'invalid-id',
  })
  t.throws(() => person.device('d', { types: ['tab' as never] }), RangeError)
})

t.test('Refused edits and faults name their type', async (t) => {
  const { a, b } = await open(t)
  a.network.fate = refused
  await a.sync.groups.put(group('x', 'one'))
  await sync(a)
  const [edit] = a.sync.quarantined()
  t.match(edit, { id: 'x', entityType: 'group', reason: 'quota' })
  t.match(a.errors, [{ id: 'x', entityType: 'group' }])
  a.network.fate = up
  await a.sync.retryQuarantined(edit as never)
  await sync(a, b)
  t.same(b.sync.groups.get('x')?.title, 'one')
})

t.test('Many tabs and entries may be deleted at once; only deletes of bookmarks wait for an answer', async (t) => {
  const { a, b } = await open(t)
  const ids = Array.from({ length: 20 }, (_, index) => `${index}`)
  await a.sync.history.put(ids.map((id) => entry(id, [10])))
  await a.sync.groups.put(ids.map((id) => group(id, '')))
  await send(
    a,
    ids.map((id) => bookmark(id, id)),
    b,
  )
  await a.sync.history.remove(ids)
  await a.sync.groups.remove(ids)
  await a.sync.remove(ids)
  await sync(a, b)
  t.same(
    titlesByType(b).map(({ length }) => length),
    [20, 0, 0],
  )
  t.match(b.sync.status().heldDeletions, { count: 20 })
})

for (const [name, makeDisk] of Object.entries(disks)) {
  t.test(
    `A type added later is pulled from the start, others are not; a removed type is erased (${name})`,
    async (t) => {
      const { person, a } = await open(t)
      const disk = makeDisk()
      await send(a, [bookmark('x', 'mark'), bookmark('y', 'why')])
      await a.sync.history.put([entry('h', [10]), entry('i', [11])])
      await a.sync.groups.put(group('g', 'group'))
      await sync(a)
      let b = person.device('b', { disk })
      const reopen = async (types: typeof all | readonly ['bookmark'] | readonly ['bookmark', 'history']) => {
        await b.sync.stop()
        b = person.device('b', { disk, types })
      }
      await sync(b)
      await reopen(['bookmark', 'history'])
      // These edits are made before the device has pulled the type.
      await b.sync.history.put(entry('h', [12]))
      await b.sync.history.put(entry('j', [12]))
      b.network.fate = async (call) => (call.name === 'pull' && b.network.calls.length === 2 ? down(call) : up(call))
      await b.sync.syncNow().catch(() => {})
      await reopen(['bookmark', 'history'])
      await sync(b)
      t.same(titlesByType(b), [['mark', 'why'], [], ['h', 'i', 'j']])
      t.same(b.sync.history.get('h')?.visits?.length, 2, 'merged with the edit from before')
      t.same(
        b.changes.map(({ origin }) => origin),
        ['local'],
        'bookmarks are loaded, not pulled again',
      )

      b.network.fate = down
      await b.sync.history.update('i', { title: 'unsent' })
      await reopen(['bookmark'])
      await b.sync.put([])
      t.same(titlesByType(b), [['mark', 'why'], [], ['unsent']], 'of a removed type, only the unsent edit stays')
      await sync(b, a)
      t.same([titlesByType(b), (await b.store.load()).rows.length], [[['mark', 'why'], [], []], 2])
      t.ok(a.sync.history.get('i')?.title === 'unsent')

      await reopen(all)
      await sync(b)
      t.same(titlesByType(b), titlesByType(a))
      t.equal(b.sync.deviceId, 'b', 'the device does not mistake its own entries for those of a copy')
      const { errors, mended, conflicts } = b
      t.same({ errors, mended, conflicts }, { errors: [], mended: [], conflicts: [] })
      t.same({ conflicts: a.conflicts, waiting: b.sync.status().waiting }, { conflicts: [], waiting: 0 })
    },
  )
}

t.test('Of a removed type, unsent removals stay without content, are merged, and go once they are sent', async (t) => {
  const { person, a, b } = await open(t)
  await a.sync.groups.put(group('g', 'https://group.example'))
  await a.sync.history.put([entry('h', [10, 11]), entry('i', [10])])
  await sync(a, b)
  b.network.fate = down
  await b.sync.history.put(removedPage('h', Date.parse('2026-11-21T08:20:00.000Z')))
  await b.sync.groups.remove('g')
  await b.sync.stop()
  await a.sync.history.put(entry('h', [10, 11, 30]))
  await sync(a)
  const without = person.device('b', { store: b.store })
  without.network.fate = down
  await without.sync.put([])
  const { rows } = await without.store.load()
  t.same([rows.map(({ id }) => id).sort(), without.sync.status().waiting], [['group\tg', 'history\th'], 2])
  t.notMatch(JSON.stringify(rows), /https:/)
  await without.sync.stop()
  const again = person.device('b', { ...withAll, store: b.store })
  again.network.fate = async (call) => (call.name === 'push' ? down(call) : up(call))
  await again.sync.syncNow().catch(() => {})
  t.same(titlesByType(again), [[], [], ['h', 'i']], 'wanted again, the type is pulled again')
  await again.sync.stop()
  const last = person.device('b', { store: b.store })
  await sync(last, a)
  t.same([(await last.store.load()).rows, last.sync.status().waiting], [[], 0])
  t.same(titlesByType(a), [[], [], ['h', 'i']])
  t.same(a.sync.history.get('h')?.visits, entry('h', [30]).visits, 'only the visit since the removal is left')
  t.same([last.sync.deviceId, last.errors, a.errors], ['b', [], []])
})

t.test('The browser stores nothing of a type that was removed or whose last record was deleted', async (t) => {
  const { person, a } = await open(t)
  const disk = indexedDbStore
  /** Which of the four titles the database contains, also in packs that later ones replace. */
  const content = async () => {
    const database = await resultOf(indexedDB.open(`encrypted-bookmark-sync-${person.user.userId}`))
    const packs = await resultOf(database.transaction('rows').objectStore('rows').getAll())
    database.close()
    return ['mark', 'group', 'visited', 'other'].filter((title) => JSON.stringify(packs).includes(`"title":"${title}"`))
  }
  await send(a, bookmark('x', 'mark'))
  await a.sync.groups.put(group('x', 'group'))
  await a.sync.history.put([entry('x', [10], { title: 'visited' }), entry('y', [10], { title: 'other' })])
  await sync(a)
  const b = person.device('b', { ...withAll, disk })
  await sync(b)
  await b.sync.history.update('y', { title: 'visited' })
  await sync(b)
  t.same(await content(), ['mark', 'group', 'visited', 'other'], 'the earlier records are still there')
  await b.sync.stop()
  const c = person.device('b', { types: ['bookmark', 'group'], disk })
  await sync(c)
  t.same(await content(), ['mark', 'group'])
  await c.sync.groups.remove('x')
  await sync(c)
  t.same(await content(), ['mark'])
})

t.test('An earlier version of the app refuses a store with other types, and this one opens both kinds', async (t) => {
  const { person } = await open(t)
  const disk = indexedDbStore
  const name = `encrypted-bookmark-sync-${person.user.userId}`
  const versionOf = async () => (await indexedDB.databases()).find((one) => one.name === name)?.version
  const marks = person.device('a', { disk })
  await send(marks, bookmark('x', 'mark'))
  t.equal(await versionOf(), 2, 'without other types, the version is as before')
  const every = person.device('a', { disk, types: all })
  await every.sync.history.put(entry('h', [10]))
  t.equal(await versionOf(), 3)
  const opening = indexedDB.open(name, 2)
  await once(opening, 'error')
  t.match(opening.error, { name: 'VersionError' })
  t.same(marks.errors, [], 'a tab of this version goes on')
  await marks.sync.put(bookmark('y', 'why'))
  await every.sync.put(bookmark('z', 'zed'))
  const again = person.device('a', { disk })
  await again.sync.start()
  t.same(shown(again), { x: 'mark', y: 'why', z: 'zed' })

  const path = join(t.testdir(), 'a.db')
  for (const [holds, version] of [
    [false, 0],
    [true, 1],
    [false, 1],
  ]) {
    const store = fileStore(path)
    if (holds) store.holdTypes?.()
    t.same(await store.load(), { meta: undefined, rows: [] })
    store.close()
    const file = new DatabaseSync(path)
    t.match(file.prepare('pragma user_version').get(), { user_version: version })
    file.close()
  }
})

t.test('A rotation re-encrypts all three types', async (t) => {
  const { vault, sealed, device } = await openVault(t)
  const [a, b] = [device('a', withAll), device('b', withAll)]
  await a.sync.groups.put(group('x', 'group'))
  await a.sync.history.put(entry('x', [10]))
  await send(a, bookmark('x', 'mark'), b)
  const keys = await vault.rotate()
  await a.sync.adoptKeys(keys)
  await b.sync.adoptKeys(keys)
  await sync(b)
  t.same(titlesByType(b), [['mark'], ['group'], ['x']])
  t.same([b.changes.length, b.conflicts, b.errors], [1, [], []])
  t.same(await sealed(keys), [3, 0])
})

t.test('A rotation on a device without a type leaves its records to a device with it', async (t) => {
  const { vault, sealed, device } = await openVault(t)
  const [a, b] = [device('a'), device('b', withAll)]
  await b.sync.groups.put(group('x', 'group'))
  await b.sync.history.put(entry('x', [10]))
  await send(a, bookmark('x', 'mark'), b)
  const keys = await vault.rotate()
  await a.sync.adoptKeys(keys)
  t.same(await sealed(keys), [1, 2])
  await b.sync.adoptKeys(keys)
  t.same(
    [await sealed(keys), titlesByType(b)],
    [
      [3, 0],
      [['mark'], ['group'], ['x']],
    ],
  )
})

const someEdits = fc.array(
  fc.record({ type: fc.constantFrom(...all), id: fc.constantFrom('x', 'y'), isSent: fc.boolean() }),
  { minLength: 1, maxLength: 8 },
)

for (const [where, makeDisk] of Object.entries(disks)) {
  t.test(`A sign-out asks about unsent records of each type, and erases all types ${where}`, async (t) => {
    const disk = makeDisk()
    const leave = async (edits: readonly { type: (typeof all)[number]; id: string; isSent: boolean }[]) => {
      const person = await people.person(t)
      const { sync } = person.device('a', { ...withAll, disk })
      const put = {
        bookmark: (id: string) => sync.put(bookmark(id, 'mark')),
        group: (id: string) => sync.groups.put(group(id, 'group')),
        history: (id: string) => sync.history.put(entry(id, [10])),
      }
      const [sent, unsent] = [edits.filter(({ isSent }) => isSent), edits.filter(({ isSent }) => !isSent)]
      for (const { type, id } of sent) await put[type](id)
      await sync.syncNow()
      for (const { type, id } of unsent) await put[type](id)
      const names = (some: typeof edits) => new Set(some.map(({ type, id }) => `${type} ${id}`))
      const waiting = [...names(unsent)].filter((name) => !names(sent).has(name)).length
      const refused = await sync.signOut().then(
        () => 0,
        (error: unknown) => (error instanceof UnsentChangesError ? error.count : -1),
      )
      if (refused > 0) await sync.signOut({ discardUnsent: true })
      const store = disk(person.user.userId)
      const { meta, rows } = await store.load()
      store.close()
      const inMemory = [sync.bookmarks(), sync.groups.records(), sync.history.records()]
      t.same(
        { refused, meta, rows, left: inMemory.map(({ size }) => size) },
        { refused: waiting, meta: undefined, rows: [], left: [0, 0, 0] },
      )
    }
    await fc.assert(fc.asyncProperty(someEdits, leave), { numRuns: depth(4, 40) })
  })
}

t.test('In a full account, the oldest history is deleted for bookmarks and newer visits', async (t) => {
  const { person, a, b } = await open(t)
  const ids = Array.from({ length: 40 }, (_, index) => `h${index + 10}`)
  const erased = removedPage(historyId(person.keys, wholeHistory), Date.parse('2026-11-21T08:00:00.000Z'))
  await a.sync.history.put(erased)
  await a.sync.history.put(ids.map((id, index) => entry(id, [index + 10])))
  await sync(a)
  let room = 0
  a.network.fate = async (call) => {
    const changes = changesOf(call)
    const deletes = changes.filter(({ operation }) => operation === 'delete').length
    const needed = changes.length - deletes
    if (needed > room) return refused(call)
    room += deletes - needed
    return up(call)
  }
  await a.sync.put([bookmark('x', 'one'), bookmark('y', 'two')])
  await a.sync.history.put(entry('new', [55]))
  await a.sync.history.put(entry('old', [5]))
  await sync(a, b)
  t.same([a.sync.quarantined(), shown(b)], [[], { x: 'one', y: 'two' }])
  t.same([...b.sync.history.records().keys()].sort(), [...ids.slice(10), 'new', 'old', erased.id].sort())
})

t.test('A store without room for more types shows what it has, and stores them once there is room', async (t) => {
  const { person, a } = await open(t)
  await send(a, bookmark('x', 'mark'))
  await a.sync.history.put(entry('h', [10]))
  await sync(a)
  const store = memoryStore()
  const before = person.device('b', { store })
  await sync(before)
  await before.sync.stop()
  let isFull = true
  const write: typeof store.write = async (...rows) => {
    if (isFull) throw new StorageFullError()
    await store.write(...rows)
  }
  const b = person.device('b', { store: { ...store, write }, types: all })
  await t.rejects(b.sync.history.put(entry('i', [11])), StorageFullError)
  t.same(shown(b), { x: 'mark' })
  isFull = false
  await sync(b)
  t.same(titlesByType(b), [['mark'], [], ['h']])
})

t.test('A device that wants only bookmarks never downloads a long history, in pulls, checks or messages', async (t) => {
  const { person, a } = await open(t)
  const { user, world } = person
  await send(a, bookmark('x', 'mark'))
  const without = person.device('b')
  await online(person, without)
  const timestamp = world.time
  const entries = Array.from({ length: depth(600, 50_000) }, (_, index) =>
    change({ entity_id: `h${index}`, entity_type: 'history', device_id: 'a', timestamp, data_hash: 'ab'.repeat(32) }),
  )
  await pushMany(user, entries)
  await send(a, bookmark('y', 'why'))
  const c = person.device('c')
  await sync(c)
  const { length } = JSON.stringify(c.network.pages)
  t.ok(length < 4000, `${length} bytes`)
  await online(person, c)
  await world.pass(60_000)
  await sync(c, without)
  t.same([shown(c), shown(without)], Array(2).fill({ x: 'mark', y: 'why' }))
  t.same(
    c.network.pages.flatMap(({ changes }) => changes).filter(({ entity_type }) => entity_type !== 'bookmark'),
    [],
  )
  t.ok(c.network.count('getStatus') > 0)
  t.same([c.mended, without.mended], [[], []], 'the digest covers only its bookmarks')
})
