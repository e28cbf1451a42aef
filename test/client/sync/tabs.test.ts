import t, { type Test } from 'tap'
import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import { RecordError, SignedOutError, StoreVersionError, UnsentChangesError } from '../../../src/client/errors.ts'
import type { SyncOptions } from '../../../src/client/index.ts'
import { indexedDbStore } from '../../../src/client/sync/store/indexed-db.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import { createTabs, type TabMessage } from '../../../src/client/sync/store/tabs.ts'
import { turns, until } from './clock.ts'
import { bookmark, type Device, greeted, online, openPeople, send, shown, sync } from './device.ts'
import { down, failing, hanging, Network, up } from './network.ts'
import { once } from './stores.ts'
import { Browser } from './tab-locks.ts'

const people = await openPeople()

/** Several tabs of one browser. */

t.test("one tab talks to the service; both can edit, and each shows the other's edits", async (t) => {
  const { person, open } = await browser(t)
  const [one, two] = [open(), open()]
  await online(person, one)
  await two.sync.start()
  await two.sync.put(bookmark('x', 'by two'))
  await until(() => one.sync.status().waiting === 0 && two.sync.status().waiting === 0)
  await one.sync.put(bookmark('y', 'by one'))
  await until(() => two.sync.status().waiting === 0 && 'y' in shown(two))
  t.same([shown(one), shown(two)], Array(2).fill({ x: 'by two', y: 'by one' }))
  t.same(await person.stored(), { x: 'by two', y: 'by one' })
  t.same(two.network.calls, [])
  t.same(two.network.sockets, [])
  await until(() => two.sync.status().state === 'online')
  t.same(two.sync.status(), one.sync.status())
  one.network.fate = down
  one.network.socket?.close()
  while (one.sync.status().state !== 'offline') await person.world.pass(1000)
  await turns()
  t.equal(two.sync.status().state, 'offline', 'a tab shows the state of the leading tab')
})

t.test('if both tabs change one field at once, the replaced edit is reported, except to its own tab', async (t) => {
  const { person, one, two } = await twoTabs(t)
  await one.sync.put(bookmark('x', 'original', { description: '' }))
  await until(() => 'x' in shown(two))
  const saw = one.sync.get('x') as PlaintextBookmark
  await Promise.all([one.sync.put({ ...saw, title: 'by one' }), two.sync.put({ ...saw, title: 'by two' })])
  await until(() => shown(one).x === shown(two).x && one.sync.conflicts().length > 0)
  const [mine, theirs] = shown(one).x === 'by two' ? ['by one', 'by two'] : ['by two', 'by one']
  const conflict = { fields: ['title'], mine: { title: mine }, theirs: { title: theirs } }
  t.match([one.sync.conflicts(), two.sync.conflicts()], [[conflict], [conflict]])
  await Promise.all(['first', 'second'].map((description) => two.sync.update('x', { description })))
  t.same([two.sync.conflicts().length, two.sync.get('x')?.description], [1, 'second'])
  await sync(one)
  t.same(await person.stored(), { x: theirs })
})

t.test('records of a type that only one tab wants reach it through the tab that talks to the service', async (t) => {
  const { person, open } = await browser(t)
  const other = person.device('other', { types: ['history'] })
  const add = async (id: string) => {
    await other.sync.history.put({ id, title: '', source: 'history' })
    await sync(other)
  }
  await add('before')
  const one = open()
  await online(person, one)
  await one.sync.put(bookmark('x', 'mark'))
  await until(() => one.sync.status().waiting === 0)
  const socket = one.network.socket
  const two = open({ types: ['bookmark', 'history'] })
  await two.sync.start()
  await until(() => socket?.isOpen === false)
  while (one.network.socket === socket) await person.world.pass(1000)
  await until(() => two.sync.history.get('before') !== undefined)
  t.same([shown(two), two.network.calls, one.sync.deviceId], [{ x: 'mark' }, [], 'shared'])
  await greeted(person, one)
  await add('after')
  await one.sync.syncNow()
  await until(() => two.sync.history.get('after') !== undefined)
})

t.test('if both tabs import the same file at once, its bookmarks are there once', async (t) => {
  const { open } = await browser(t)
  const tabs = [open(), open()]
  const imports = tabs.map(({ sync }, tab) => {
    const list = ['x', 'y', 'z'].map((id) => ({ ...bookmark(id, id), id: `${id}${tab}` }))
    return sync.importBookmarks(list)
  })
  const reports = await Promise.all(imports)
  t.same(reports.map(({ imported }) => imported).sort(), [0, 3])
  await until(() => tabs.every(({ sync }) => sync.bookmarks().size === 3))
})

t.test('changes and conflicts of another device are reported in both tabs', async (t) => {
  const { person, one, two } = await twoTabs(t)
  const other = person.device('other')
  await two.sync.put(bookmark('x', 'mine'))
  await until(() => one.sync.status().waiting === 0)
  await person.world.pass(1000)
  await send(other, bookmark('x', 'theirs'))
  await two.sync.syncNow()
  const expected = [{ id: 'x', mine: { title: 'mine' }, theirs: { title: 'theirs' } }]
  await until(() => one.conflicts.length > 0)
  t.match([one.conflicts, two.conflicts], [expected, expected])
  t.same([shown(one), shown(two)], Array(2).fill({ x: 'theirs' }))
})

t.test('a tab that slept continues with everything that the other tab stored meanwhile', async (t) => {
  const { person, open } = await browser(t)
  const [one, two] = [open(), open({ isDeaf: true })]
  one.network.fate = down
  await one.sync.start()
  await two.sync.start()
  await one.sync.put(bookmark('x', 'one'))
  t.same(shown(two), {})
  one.kill()
  await until(() => 'x' in shown(two) && two.sync.status().waiting === 0)
  t.same(await person.stored(), { x: 'one' })
})

for (const error of [new RecordError('unknown-key', 'Other keys'), new SignedOutError()]) {
  t.test(`a tab that failed (${error.name}) and starts again after the other shows the other's data`, async (t) => {
    const { person, open } = await browser(t)
    const [one, two] = [open(), open()]
    await online(person, one)
    await two.sync.syncNow()
    await until(() => two.sync.status().state === 'online')
    two.network.fate = failing(error)
    await t.rejects(two.sync.syncNow(), error)
    two.network.fate = up
    await two.sync.start()
    await until(() => two.sync.status().state === 'online')
    t.same(two.sync.status(), one.sync.status())
  })
}

t.test('a sign-out in one tab is reported in both once the session has ended, not before', async (t) => {
  const { person, open, one, two } = await twoTabs(t)
  await one.sync.put(bookmark('x', 'one'))
  await one.sync.syncNow()
  await until(() => 'x' in shown(two))
  const logout = one.network.hold('logout')
  const signedOut = one.sync.signOut()
  await logout.reached
  const late = open()
  const started = late.sync.start()
  await until(() => !('x' in shown(two)))
  await turns(50)
  const states = () => [one, two].map(({ sync }) => sync.status().state)
  t.notOk(states().includes('signed-out'), 'the session is still there')
  logout.release()
  await signedOut
  await until(() => states().every((state) => state === 'signed-out'))
  await started
  t.same(shown(late), {}, 'a tab that was opened meanwhile has nothing')
  await until(() => late.sync.status().state === 'signed-out')
  t.equal((await person.user.call('GET', '/api/v1/auth/session')).status, 401)
})

t.test('signing out in one tab erases both, and asks about unsent edits of both', async (t) => {
  const { person, one, two } = await twoTabs(t)
  one.network.fate = async (call) => (call.name === 'push' ? new Promise(() => {}) : call.send())
  await two.sync.put(bookmark('x', 'unsent'))
  await t.rejects(one.sync.signOut(), new UnsentChangesError(1))
  t.same(shown(one), { x: 'unsent' }, 'nothing was erased')
  await one.sync.signOut({ discardUnsent: true })
  await until(() => two.sync.status().state === 'signed-out')
  for (const tab of [one, two]) {
    t.same(shown(tab), {})
    t.match(tab.sync.status(), { state: 'signed-out', waiting: 0 })
    await t.rejects(tab.sync.put(bookmark('y', 'late')), { name: 'AbortError' })
  }
  const names = (await indexedDB.databases()).map(({ name }) => name)
  t.notMatch(names.join(), person.user.userId, 'the database is gone')
  t.equal((await person.user.call('GET', '/api/v1/auth/session')).status, 401, 'the session is over')
})

t.test('when a newer version takes over the store, an older tab reports it and gives up the lead', async (t) => {
  const { person, open, tabsOf } = await browser(t)
  const [one, two] = [open(), open()]
  const newer = tabsOf()
  const heard: TabMessage[] = []
  await online(person, one)
  await one.sync.put(bookmark('x', 'sent'))
  await until(() => one.sync.status().waiting === 0)
  const name = `encrypted-bookmark-sync-${person.user.userId}`
  const opening = indexedDB.open(name, 9)
  await once(opening, 'success')
  opening.result.close()
  newer.listen((message) => heard.push(message))
  const outdated = { state: 'offline', reason: 'outdated' }
  t.match(one.sync.status(), outdated, 'at once')
  t.match(one.errors, [{ error: { name: 'StoreVersionError' } }])
  await t.rejects(one.sync.put(bookmark('y', 'late')), StoreVersionError)
  await t.rejects(one.sync.syncNow(), StoreVersionError)
  await newer.exclusively('sync', async () => {})
  newer.post({ type: 'state', state: 'online' })
  await turns()
  t.match([one.sync.status(), one.errors.length], [outdated, 1], "the newer tab's state does not apply here")
  t.same(heard, [], 'the newer tab does not count as outdated')

  // A tab of the older version changes nothing in the newer store until the user discards it.
  await t.rejects(two.sync.start(), StoreVersionError)
  t.match([two.sync.status(), two.errors], [outdated, [{ error: { name: 'StoreVersionError' } }]])
  await t.rejects(two.sync.signOut(), StoreVersionError)
  t.equal((await indexedDB.databases()).find((one) => one.name === name)?.version, 9)
  await two.sync.signOut({ discardUnsent: true })
  t.equal(two.sync.status().state, 'signed-out')
  t.notMatch((await indexedDB.databases()).map(({ name }) => name).join(), name)
  t.equal((await person.user.call('GET', '/api/v1/auth/session')).status, 401)
})

for (const [moment, isThen] of [
  ['a call is not answered yet', ({ network }) => network.calls.length > 0],
  ['the channel is not greeted yet', ({ network }) => network.socket !== undefined],
] satisfies [string, (tab: Tab) => boolean][])
  t.test(`when a newer version takes over the store while ${moment}, the older tab reports it`, async (t) => {
    const { person, open, tabsOf } = await browser(t)
    const [one, newer] = [open(), tabsOf()]
    if (moment.includes('call')) one.network.fate = () => new Promise(() => {})
    await one.sync.start()
    await until(() => isThen(one))
    const opening = indexedDB.open(`encrypted-bookmark-sync-${person.user.userId}`, 9)
    await once(opening, 'success')
    opening.result.close()
    await newer.exclusively('sync', async () => {})
    t.match(one.sync.status(), { state: 'offline', reason: 'outdated' })
  })

t.test('when a newer version takes over the store during a write, the older tab reports it', async (t) => {
  let writes = 0
  let isOnline = false
  for (let taken = 1; !isOnline; taken++) {
    const person = await people.person(t)
    const { userId } = person.user
    const store = indexedDbStore(userId)
    writes = 0
    const write: Store['write'] = async (...change) => {
      const isTaken = ++writes === taken
      const writing = store.write(...change)
      const opening = isTaken ? indexedDB.open(`encrypted-bookmark-sync-${userId}`, 9) : undefined
      if (opening) await once(opening, 'success')
      opening?.result.close()
      return writing
    }
    const { sync, network } = person.device('shared', { store: { ...store, write }, skew: 3_600_000 })
    await sync.start()
    await sync.put(bookmark('x', 'mine')).catch(() => {})
    await until(() => writes >= taken || network.socket?.isOpen === true)
    network.socket?.greet(person.world.time)
    await until(() => writes >= taken || sync.status().state === 'online')
    isOnline = writes < taken
    await turns(50)
    if (!isOnline) t.match(sync.status(), { state: 'offline', reason: 'outdated' }, `write ${taken}`)
    await sync.stop()
  }
  t.ok(writes > 2)
})

t.test("tabs work with the platform's own locks and channel", async (t) => {
  const person = await people.person(t)
  const open = () => person.device('shared', { store: indexedDbStore(person.user.userId) })
  const [one, two] = [open(), open()]
  await one.sync.start()
  await two.sync.start()
  await until(() => one.network.socket !== undefined)
  await greeted(person, one)
  await two.sync.put(bookmark('x', 'by two'))
  await until(() => one.sync.status().waiting === 0 && 'x' in shown(one))
  t.same(await person.stored(), { x: 'by two' })
  t.same(two.network.calls, [])
  await one.sync.stop()
  await greeted(person, two)
})

interface Tab extends Device {
  kill(): void
}

/** A browser in which the person is signed in. */
async function browser(t: Test) {
  const person = await people.person(t)
  const { userId } = person.user
  const locks = new Browser()
  const open = ({ isDeaf = false, types }: { isDeaf?: boolean; types?: SyncOptions['types'] } = {}): Tab => {
    const tab = locks.tab()
    const store = mortal(indexedDbStore(userId))
    const channel = new BroadcastChannel(isDeaf ? `nobody-${userId}` : `test-${userId}`)
    const tabs = createTabs(userId, { locks: tab.locks, channel: channel as unknown as globalThis.BroadcastChannel })
    const network = new Network(person.user, 'shared')
    const device = person.device('shared', { store: store.store, tabs, network, types })
    const kill = () => {
      store.kill()
      channel.close()
      network.fate = hanging
      network.socket?.close()
      tab.kill()
    }
    return { ...device, kill }
  }
  /** The messages and locks of a tab with another version of the app. */
  const tabsOf = () => {
    const channel = new BroadcastChannel(`test-${userId}`) as unknown as globalThis.BroadcastChannel
    t.teardown(() => channel.close())
    return createTabs(userId, { locks: locks.tab().locks, channel })
  }
  return { person, open, tabsOf }
}

/** Two tabs, started one after the other. */
async function twoTabs(t: Test) {
  const { person, open } = await browser(t)
  const [one, two] = [open(), open()]
  for (const { sync } of [one, two]) await sync.start()
  return { person, open, one, two }
}

/** A store that never answers again after `kill`. */
function mortal(store: Store): { store: Store; kill(): void } {
  let isDead = false
  const alive = async <T>(work: () => Promise<T>): Promise<T> => (isDead ? new Promise<T>(() => {}) : work())
  return {
    store: {
      ...store,
      load: () => alive(() => store.load()),
      read: (ids) => alive(() => store.read(ids)),
      write: (rows, meta) => alive(() => store.write(rows, meta)),
    },
    kill() {
      isDead = true
    },
  }
}
