import fc from 'fast-check'
import t, { type Test } from 'tap'
import { indexedDbStore, type Store, StoreBlockedError } from '../../../src/client/index.ts'
import { keepMasterKey, loadMasterKey } from '../../../src/client/vault/master-key.ts'
import { indexedDbAgreedStore } from '../../../src/extension/agreed.ts'
import { until } from './clock.ts'
import { bookmark, openPeople, send, shown, sync } from './device.ts'
import { once } from './stores.ts'

const people = await openPeople()

/** Simulates how browsers lose connections: `lose` makes those used so far fail without an event. */
function losingConnections(t: Test) {
  const lost = new WeakSet<object>()
  let seen: object[] = []
  let name = ''
  const { transaction } = IDBDatabase.prototype
  t.intercept(IDBDatabase.prototype, 'transaction', {
    value(this: IDBDatabase, ...args: Parameters<IDBDatabase['transaction']>) {
      if (lost.has(this)) throw new DOMException('The connection was lost', name)
      if (!seen.includes(this)) seen.push(this)
      return transaction.apply(this, args)
    },
  })
  return {
    lose(error: string): void {
      name = error
      for (const one of seen) lost.add(one)
      seen = []
    },
    /** How many connections were used since the loss. */
    used: () => seen.length,
  }
}

for (const name of ['InvalidStateError', 'UnknownError', 'AbortError']) {
  t.test(
    `a connection that ends without an event, with ${name}: the next call opens the store again, once`,
    async (t) => {
      const { person, a } = await people.open(t, { a: { disk: indexedDbStore } })
      const { lose, used } = losingConnections(t)
      await send(a, bookmark('x', 'before'))
      for (const id of ['y', 'z']) {
        lose(name)
        await a.sync.put(bookmark(id, 'after'))
        t.equal(used(), 1)
      }
      lose(name)
      await sync(a)
      t.equal(used(), 1)
      t.same(await person.stored(), { x: 'before', y: 'after', z: 'after' })
      t.same([shown(a), a.errors, a.sync.status().reason], [await person.stored(), [], undefined])
    },
  )
}

t.test('two tabs may lose their connections at any time: each edit is stored and visible in both', async (t) => {
  const { lose } = losingConnections(t)
  const step = fc.record({ tab: fc.nat(1), id: fc.constantFrom('x', 'y', 'z'), isLost: fc.boolean() })
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const person = await people.person(t)
      const tabs = [0, 1].map(() => person.device('shared', { disk: indexedDbStore }))
      for (const { sync } of tabs) await sync.put([])
      const run = `run ${runs++}`
      const edits = steps.map(async ({ tab, id, isLost }, index) => {
        if (isLost) lose('InvalidStateError')
        await tabs[tab]?.sync.put(bookmark(id, `${run} ${index}`))
      })
      await Promise.all(edits)
      const reloaded = person.device('shared', { disk: indexedDbStore })
      await reloaded.sync.put([])
      const ids = [...new Set(steps.map(({ id }) => id))].sort()
      t.same(Object.keys(shown(reloaded)), ids)
      for (const tab of tabs) await until(() => same(shown(tab), shown(reloaded)))
      for (const { sync } of [...tabs, reloaded]) await sync.stop()
    }),
    { numRuns: 20 },
  )
})

function same(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

for (const name of [
  'InvalidStateError',
  'TransactionInactiveError',
  'NotFoundError',
  'QuotaExceededError',
  'UnknownError',
]) {
  t.test(`a store that fails with ${name} is not reported as a missing network`, async (t) => {
    const person = await people.person(t)
    const store = indexedDbStore(person.user.userId)
    let isBroken = false
    const failing = async () => {
      if (isBroken) throw new DOMException('It fails', name)
    }
    const broken: Store = {
      ...store,
      load: () => failing().then(store.load),
      read: (ids) => failing().then(() => store.read(ids)),
    }
    const a = person.device('a', { store: broken })
    await send(a, bookmark('x', 'sent'))
    isBroken = true
    await t.rejects(a.sync.syncNow(), { name })
    t.match(a.sync.status(), { state: 'offline', reason: 'storage' })
    t.match(a.errors, [{ error: { name } }])
    isBroken = false
    await sync(a)
    t.match(a.sync.status(), { state: 'polling', reason: undefined })
  })
}

/** The connection of a frozen tab with an older version of the app: it does not close when a newer version opens the store. */
async function frozenTab(userId: string): Promise<IDBDatabase> {
  const opening = indexedDB.open(`encrypted-bookmark-sync-${userId}`, 1)
  opening.onupgradeneeded = () => {
    for (const name of ['rows', 'meta']) opening.result.createObjectStore(name)
  }
  await once(opening, 'success')
  return opening.result
}

t.test('a frozen tab keeps the store at an older version: this tab reports it, and later goes on', async (t) => {
  const person = await people.person(t)
  const frozen = await frozenTab(person.user.userId)
  const a = person.device('a', { disk: indexedDbStore })
  const starting = a.sync.start()
  const editing = a.sync.put(bookmark('x', 'waits'))
  await until(() => a.sync.status().reason === 'blocked')
  t.match(a.errors, [{ error: { constructor: StoreBlockedError } }])
  frozen.close()
  await starting
  await editing
  t.not(a.sync.status().reason, 'blocked')
  await sync(a)
  t.same(await person.stored(), { x: 'waits' })
})

t.test('a frozen tab is reported before a start, too, and a stop does not wait for it', async (t) => {
  silencesPassAtOnce(t)
  const person = await people.person(t)
  const frozen = await frozenTab(person.user.userId)
  const [a, b] = [person.device('a', { disk: indexedDbStore }), person.device('b', { disk: indexedDbStore })]
  const editing = a.sync.put(bookmark('x', 'waits'))
  const inVain = b.sync.put(bookmark('y', 'is not made'))
  await until(() => [a, b].every(({ sync }) => sync.status().reason === 'blocked'))
  await Promise.all([b.sync.stop(), t.rejects(inVain)])
  frozen.close()
  await editing
  t.match([a.sync.status(), shown(a)], [{ state: 'offline', reason: undefined, waiting: 1 }, { x: 'waits' }])
})

/** Lets the next opens of a store count as blocked at once, instead of after 5 s without an answer. */
function silencesPassAtOnce(t: Test, times = Number.POSITIVE_INFINITY): void {
  const { setTimeout: later } = globalThis
  const value = (work: () => void, ms?: number) => later(work, ms === 5000 && times-- > 0 ? 1 : ms)
  t.intercept(globalThis, 'setTimeout', { value })
}

/** Lets the first request to open a store with this prefix get no answer, as in Safari. */
function forgottenRequest(t: Test, prefix: string): void {
  const { indexedDB } = globalThis
  const open = indexedDB.open.bind(indexedDB)
  let isForgotten = false
  t.intercept(indexedDB, 'open', {
    value(name: string, version?: number) {
      if (isForgotten || !name.startsWith(prefix)) return open(name, version)
      isForgotten = true
      silencesPassAtOnce(t, 1)
      return {}
    },
  })
}

t.test('a store whose opening is never answered is reported after a while, and opened again', async (t) => {
  const person = await people.person(t)
  forgottenRequest(t, `encrypted-bookmark-sync-${person.user.userId}`)
  const a = person.device('a', { disk: indexedDbStore })
  await a.sync.start()
  t.match(a.errors, [{ error: { constructor: StoreBlockedError } }])
  t.not(a.sync.status().reason, 'blocked')
})

t.test('an unanswered opening of the master key or the agreed tree rejects, and the next one succeeds', async (t) => {
  await keepMasterKey('ada', new Uint8Array(32).fill(3))
  const agreed = indexedDbAgreedStore('ada')
  await t.test('the key', async (t) => {
    forgottenRequest(t, 'encrypted-bookmark-sync-keys')
    await t.rejects(loadMasterKey('ada'), StoreBlockedError)
    t.same(await loadMasterKey('ada'), new Uint8Array(32).fill(3))
  })
  await t.test('the tree', async (t) => {
    forgottenRequest(t, 'encrypted-bookmark-sync-browser-ada')
    await t.rejects(agreed.load(), StoreBlockedError)
    t.same((await agreed.load()).rows.size, 0)
  })
})

t.test('the agreed tree and the master key are read over a new connection if theirs is lost', async (t) => {
  const { lose } = losingConnections(t)
  const agreed = indexedDbAgreedStore('bob')
  await agreed.write({ rows: new Map(), orders: new Map([['root', ['a']]]) })
  for (const name of ['InvalidStateError', 'UnknownError', 'AbortError']) {
    lose(name)
    await agreed.write({ rows: new Map(), orders: new Map([[name, ['b']]]) })
    lose(name)
    t.same((await agreed.load()).orders.get(name), ['b'])
  }
  await keepMasterKey('bob', new Uint8Array(32).fill(4))
  let isFirst = true
  const { transaction } = IDBDatabase.prototype
  t.intercept(IDBDatabase.prototype, 'transaction', {
    value(this: IDBDatabase, ...args: Parameters<IDBDatabase['transaction']>) {
      if (isFirst) {
        isFirst = false
        throw new DOMException('The connection was lost', 'UnknownError')
      }
      return transaction.apply(this, args)
    },
  })
  t.same(await loadMasterKey('bob'), new Uint8Array(32).fill(4))
})

t.test('a call that fails because its store was closed does not open the store again', async (t) => {
  const store = indexedDbStore('cyd')
  t.teardown(() => store.wipe())
  await store.load()
  const opened = t.capture(indexedDB, 'open', indexedDB.open.bind(indexedDB))
  const { transaction } = IDBDatabase.prototype
  IDBDatabase.prototype.transaction = () => {
    IDBDatabase.prototype.transaction = transaction
    store.close()
    throw new DOMException('The connection is closing', 'InvalidStateError')
  }
  await t.rejects(store.load(), { name: 'InvalidStateError' })
  t.same(opened(), [])
})
