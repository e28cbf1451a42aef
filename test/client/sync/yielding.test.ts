import t from 'tap'
import { memoryStore, type PlaintextBookmark, type Row, type Store, type Stored } from '../../../src/client/index.ts'
import { bookmark, type Device, openPeople, sync } from './device.ts'
import { hanging } from './network.ts'

/**
 * Long work does not block the page. On the clock of these tests each piece of work takes a fixed time, so that the
 * counts do not depend on the machine.
 */

const people = await openPeople()
const count = 1000
/** The time that each piece of work takes. A slice of 10 ms has room for 20 pieces. */
const stepMs = 0.5
const most = 100

t.test('imports, edits and deletes of all, a first sync, a start and building a tree have no long step', async (t) => {
  const person = await people.person(t)
  const store = memoryStore()
  const list = Array.from({ length: count }, (_, index) => bookmark(`b${index}`, String(index)))
  const a = person.device('a', { store, clock: counting(person.world.clock()) })
  const b = person.device('b', { clock: counting(person.world.clock()) })
  const again = person.device('a', { store: readCounting(store), clock: counting(person.world.clock()) })
  const found: Record<string, number> = {}
  found.import = await mostInATurn(a, () => a.sync.importBookmarks(list.map(titleCounting)))
  found.edit = await mostInATurn(a, () => a.sync.put(list.map((one) => ({ ...one, title: `${one.title}!` }))))
  await sync(a)
  found.firstSync = await mostInATurn(b, () => b.sync.syncNow())
  await a.sync.stop()
  again.network.fate = hanging
  found.start = await mostInATurn(again, () => again.sync.start())
  found.tree = await mostInATurn(again, async () => again.sync.tree())
  found.remove = await mostInATurn(again, () => again.sync.remove(list.map(({ id }) => id)))

  t.same([b.sync.bookmarks().size, again.sync.bookmarks().size], [count, 0])
  const large = Object.entries(found).filter(([, work]) => work > most)
  t.same(large, [], 'pieces of work in one turn')
})

t.test('filling a store that the browser has emptied does not block the page', async (t) => {
  const person = await people.person(t)
  const store = memoryStore()
  const list = Array.from({ length: count }, (_, index) => bookmark(`b${index}`, String(index)))
  const before = person.device('a', { store })
  await before.sync.importBookmarks(list)
  await before.sync.syncNow()
  await before.sync.stop()
  const emptied = emptying(store)
  const { sync, network } = person.device('a', { store: emptied.store })
  network.fate = hanging
  await sync.start()
  emptied.now()
  const found = await mostInATurn({ sync }, () => sync.put(bookmark('new', 'made then')))
  t.equal(sync.bookmarks().size, count + 1)
  t.ok(found <= most, `${found} pieces of work in one turn`)
})

let readings = 0

/** Counts how often an edit reads the clock. */
function counting<T extends { now(): number }>(clock: T): T {
  const now = () => {
    readings++
    return clock.now()
  }
  return { ...clock, now }
}

/** Counts how often a stored row, or the folder of its bookmark, is read. */
function readCounting(store: Store): Store {
  const counted = (row: Row): Row => ({
    ...row,
    version: row.version && { ...row.version, bookmark: row.version.bookmark && folderCounting(row.version.bookmark) },
    get id() {
      readings++
      return row.id
    },
  })
  const load = async () => {
    const { meta, rows } = await store.load()
    return { meta, rows: rows.map(counted) }
  }
  return { ...store, load }
}

/** From `now()` on, looks emptied, then refilled by another tab. Counts readings of versions' times. */
function emptying(store: Store): { store: Store; now(): void } {
  let generation: string | undefined
  const read = async (reading: Promise<Stored>) => {
    const { meta, rows } = await reading
    return { meta: meta && { ...meta, ...(generation && { generation }) }, rows: rows.map(timeCounting) }
  }
  return {
    store: { ...store, load: () => read(store.load()), read: (ids) => read(store.read(ids)) },
    now() {
      generation = 'another'
    },
  }
}

function timeCounting(row: Row): Row {
  if (!row.version) return row
  const { timestamp } = row.version
  const get = () => {
    readings++
    return timestamp
  }
  return { ...row, version: Object.defineProperty({ ...row.version }, 'timestamp', { enumerable: true, get }) }
}

/** Counts how often a title is read, which happens with each copy of the bookmark. */
function titleCounting(bookmark: PlaintextBookmark): PlaintextBookmark {
  const get = () => {
    readings++
    return bookmark.title
  }
  return Object.defineProperty({ ...bookmark }, 'title', { enumerable: true, get })
}

function folderCounting(bookmark: PlaintextBookmark): PlaintextBookmark {
  const { parentId } = bookmark
  return Object.defineProperty({ ...bookmark }, 'parentId', {
    enumerable: parentId !== undefined,
    get() {
      readings++
      return parentId
    },
  })
}

/** The most work that was done between two turns of the event loop: rows read, edits stamped, bookmarks that appeared. */
async function mostInATurn({ sync }: Pick<Device, 'sync'>, work: () => Promise<unknown>): Promise<number> {
  const { now } = performance
  let time = 0
  performance.now = () => (time += stepMs)
  const live = sync.bookmarks()
  let [size, before, largest] = [live.size, readings, 0]
  const look = () => {
    largest = Math.max(largest, Math.abs(live.size - size), readings - before)
    size = live.size
    before = readings
  }
  let isDone = false
  const looking = (async () => {
    while (!isDone) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      if (!isDone) look()
    }
  })()
  try {
    await work()
  } finally {
    look()
    performance.now = now
    isDone = true
    await looking
  }
  return largest
}
