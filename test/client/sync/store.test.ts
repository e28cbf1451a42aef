import t from 'tap'
import { indexedDbStore, type Row, StorageFullError, StoreVersionError } from '../../../src/client/index.ts'
import { blankRow } from '../../../src/client/sync/store/row.ts'
import { metaOf, storeCases } from '../../../src/client/testing/store-cases.ts'
import { pick } from '../../support/pick.ts'
import { bookmark } from './device.ts'
import { deleteDatabase, disks, once, openDatabase } from './stores.ts'

const meta = metaOf('ann')

for (const [name, makeDisk] of Object.entries(disks)) {
  t.test(`A store ${name}:`, async (t) => {
    const disk = makeDisk()
    for (const { title, run } of storeCases) t.test(title, () => run(disk))
  })
}

for (const [how, fail] of Object.entries({
  'at a request': () => failingPut(1),
  'at once': () => throwingPut(1),
  'when the transaction ends': failingEnd,
})) {
  t.test(`a full IndexedDB that fails ${how} gives StorageFullError, and writes all or nothing`, async (t) => {
    const store = indexedDbStore(`full ${how}`)
    t.teardown(() => store.wipe())
    await store.write([known('a')], meta)
    const restore = fail()
    await t.rejects(store.write([known('a', 'changed'), known('b'), known('c')], { ...meta, cursor: 9 }), {
      name: 'StorageFullError',
      constructor: StorageFullError,
      cause: { name: 'QuotaExceededError' },
    })
    restore()
    t.same(await store.load(), { meta, rows: [known('a')] })
    await store.write([known('b')], meta)
    t.same(byId((await store.load()).rows), [known('a'), known('b')], 'writes succeed once there is room')
  })
}

t.test('IndexedDB is asked for strict durability, which browsers do not use by default', async (t) => {
  const store = indexedDbStore('durable')
  t.teardown(() => store.wipe())
  await store.load()
  const asked = t.capture(IDBDatabase.prototype, 'transaction', IDBDatabase.prototype.transaction)
  await store.write([known('a')], meta)
  t.match(asked(), [{ args: [['rows', 'meta'], 'readwrite', { durability: 'strict' }] }])
})

t.test('a store that another tab erases is closed in this tab, too', async (t) => {
  const [one, other] = [indexedDbStore('eve'), indexedDbStore('eve')]
  await one.write([known('a')], meta)
  t.equal((await other.load()).rows.length, 1)
  await one.wipe()
  await t.rejects(one.load(), { name: 'InvalidStateError' }, 'a load would create it again')
  t.notMatch(pick(await indexedDB.databases(), 'name').join(), /eve/, 'the database is gone')
  other.close()
})

t.test('a store that the browser deletes is closed at once, and opened again by the next call', async (t) => {
  const store = indexedDbStore('finn')
  await store.write([known('a')], meta)
  const [deleted, loaded] = [deleteDatabase('finn'), store.load()]
  await Promise.all([deleted, loaded])
  t.same(await store.load(), { meta: undefined, rows: [] })
  await store.write([known('b')], meta)
  t.same(await store.load(), { meta, rows: [known('b')] })
  await store.wipe()
})

t.test('when a newer version of the app takes over the store, the older one closes it and reports it', async (t) => {
  const store = indexedDbStore('gil')
  let told = 0
  store.onOutdated?.(() => told++)
  await store.write([known('a')], meta)
  const opening = indexedDB.open('encrypted-bookmark-sync-gil', 4)
  await once(opening, 'success')
  t.equal(told, 1)
  await t.rejects(store.load(), { constructor: StoreVersionError, cause: { name: 'VersionError' } })
  opening.result.close()
  await store.wipe()
  t.notMatch(pick(await indexedDB.databases(), 'name').join(), /gil/, 'a newer store can be deleted')
})

t.test('a store of version 1, which kept each row by itself, keeps its rows', async (t) => {
  const database = await openDatabase('hal', (database) => {
    database.createObjectStore('rows', { keyPath: 'id' })
    database.createObjectStore('meta')
  })
  const transaction = database.transaction(['rows', 'meta'], 'readwrite')
  const rows = Array.from({ length: 1200 }, (_, index) => known(`row-${1000 + index}`))
  for (const row of rows) transaction.objectStore('rows').put(row)
  transaction.objectStore('meta').put(meta, 'meta')
  await once(transaction, 'complete')
  database.close()
  const store = indexedDbStore('hal')
  t.teardown(() => store.wipe())
  const found = t.capture(IDBObjectStore.prototype, 'getAll', IDBObjectStore.prototype.getAll)
  t.same(await store.load(), { meta, rows })
  const lengths = found().map((call) => ('returned' in call ? call.returned.result.length : 0))
  t.ok(Math.max(...lengths) <= 500, 'a turn reads a limited number of rows')
})

t.test('thousands of rows take few requests, and thousands of edits leave few old entries', async (t) => {
  const [one, other] = [indexedDbStore('ida'), indexedDbStore('ida')]
  t.teardown(() => one.wipe())
  t.teardown(() => other.close())
  const [many, edits] = [5000, 1000]
  const ids = Array.from({ length: many }, (_, index) => `row-${index}`)
  const requests = countRequests()
  await one.write(
    ids.map((id) => known(id)),
    meta,
  )
  await one.read(ids)
  t.ok(requests() < many / 10, `${requests()} requests`)
  t.equal((await other.load()).rows.length, many)
  for (let edit = 0; edit < edits; edit++) await one.write([known('row-7', `title ${edit}`)], meta)
  const left = await countPacks('ida')
  t.ok(left < edits / 2, `${left} packs`)
  const last = [known('row-7', `title ${edits - 1}`)]
  t.same((await other.read(['row-7'])).rows, last, 'another tab reads the last one')
  t.equal((await other.load()).rows.length, many)
  await one.write(ids.map(blankRow), meta)
  for (let edit = 0; edit < edits; edit++) await one.write([known('row-8', `title ${edit}`)], meta)
  const again = indexedDbStore('ida')
  t.teardown(() => again.close())
  const rest = { meta, rows: [known('row-8', `title ${edits - 1}`)] }
  t.same([await other.load(), await again.load()], [rest, rest])
})

/** Counts the calls of `get`, `getAll` and `put` of all object stores from now on. */
function countRequests(): () => number {
  const { get, getAll, put } = IDBObjectStore.prototype
  let count = 0
  const methods = { get, getAll, put }
  for (const [name, method] of Object.entries(methods)) {
    Object.assign(IDBObjectStore.prototype, {
      [name](this: IDBObjectStore, ...args: unknown[]) {
        count++
        return Reflect.apply(method, this, args)
      },
    })
  }
  return () => {
    Object.assign(IDBObjectStore.prototype, methods)
    return count
  }
}

async function countPacks(userId: string): Promise<number> {
  const database = await openDatabase(userId)
  const counting = database.transaction('rows').objectStore('rows').count()
  await once(counting, 'success')
  database.close()
  return counting.result
}

function known(id: string, title = 'title'): Row {
  const version = {
    event_id: `event-${id}`,
    timestamp: 5,
    device_id: 'phone',
    operation: 'create' as const,
    data_hash: `hash-${title}`,
    bookmark: bookmark(id, title),
    confirmed: true,
  }
  return { ...blankRow(id), version }
}

function byId(rows: Row[]): Row[] {
  return rows.sort((one, other) => (one.id < other.id ? -1 : 1))
}

/** The put with this index finds no room: the browser then aborts the whole transaction with all of its requests. */
function failingPut(nth: number): () => void {
  let count = 0
  return replacePut((store, put) => {
    const request = put()
    if (count++ === nth) request.addEventListener('success', () => endForRoom(store.transaction))
    return request
  })
}

function throwingPut(nth: number): () => void {
  let count = 0
  return replacePut((_, put) => {
    if (count++ === nth) throw new DOMException('No room', 'QuotaExceededError')
    return put()
  })
}

/** All requests succeed, but the transaction finds no room when it ends. */
function failingEnd(): () => void {
  return replacePut((store, put) => {
    const request = put()
    if (store.name === 'meta') request.addEventListener('success', () => endForRoom(store.transaction))
    return request
  })
}

function replacePut(
  replacement: (store: IDBObjectStore, put: () => IDBRequest<IDBValidKey>) => IDBRequest<IDBValidKey>,
) {
  const { put } = IDBObjectStore.prototype
  IDBObjectStore.prototype.put = function (...args) {
    return replacement(this, () => put.apply(this, args))
  }
  return () => {
    IDBObjectStore.prototype.put = put
  }
}

/** fake-indexeddb's own way to end a transaction with an error. */
function endForRoom(transaction: IDBTransaction): void {
  ;(transaction as unknown as { _abort(name: string): void })._abort('QuotaExceededError')
}
