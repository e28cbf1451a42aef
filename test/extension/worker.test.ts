import t, { type Test } from 'tap'
import { describe } from '../../src/extension/app/describe.ts'
import { until } from '../support/until.ts'
import { install, openElsewhere } from './worker-device.ts'

/** Makes databases with this prefix fail with `error`, or never open if there is none. Returns a function that ends this. */
function breakStores(t: Test, prefix: string, error?: Error): () => void {
  const { indexedDB } = globalThis
  const open = indexedDB.open.bind(indexedDB)
  const mend = () => {
    indexedDB.open = open
  }
  indexedDB.open = (name, version) => {
    if (!name.startsWith(prefix)) return open(name, version)
    const request = { error } as { error?: Error; onerror?: () => void }
    if (error) queueMicrotask(() => request.onerror?.())
    return request as unknown as IDBOpenDBRequest
  }
  t.teardown(mend)
  return mend
}

for (const place of ['keys', 'bookmarks', 'browser']) {
  t.test(`A worker reports that the disk is full, and goes on once there is space: ${place}`, async (t) => {
    const installed = await install(t)
    const store = place === 'bookmarks' ? installed.connection.userId : place
    const mend = breakStores(
      t,
      `encrypted-bookmark-sync-${store}`,
      new DOMException('Quota exceeded', 'QuotaExceededError'),
    )
    installed.run()
    await installed.shows('This device is full, or its storage fails')
    await until(() => installed.badge === '1')
    mend()
    if (place === 'browser') installed.happens('alarm')
    await installed.shows('In step')
    await until(() => installed.badge === '')
  })
}

for (const place of ['keys', 'bookmarks', 'browser']) {
  t.test(`A worker reports that the browser does not open a store, and goes on once it does: ${place}`, async (t) => {
    const { setTimeout: later } = globalThis
    let isBroken = true
    // Shortens the 5 s after which the client gives up opening a database.
    const value = (work: () => void, ms?: number) => later(work, ms === 5000 && isBroken ? 50 : ms)
    t.intercept(globalThis, 'setTimeout', { value })
    const installed = await install(t)
    const store = place === 'bookmarks' ? installed.connection.userId : place
    const mend = breakStores(t, `encrypted-bookmark-sync-${store}`)
    installed.run()
    await installed.shows('The storage of this browser does not answer')
    await until(() => installed.badge === '1')
    isBroken = false
    mend()
    await installed.shows('In step')
    await until(() => installed.badge === '')
  })
}

/** Creates a database as a newer version of the extension leaves it behind. */
async function openNewer(name: string): Promise<void> {
  await new Promise((resolve) => {
    indexedDB.open(name, 9).onsuccess = ({ target }) => {
      ;(target as IDBOpenDBRequest).result.close()
      resolve(undefined)
    }
  })
}

t.test('A store of a newer version is reported, and deleted only if its user confirms that', async (t) => {
  const installed = await install(t)
  await openNewer(`encrypted-bookmark-sync-${installed.connection.userId}`)
  installed.run()
  await installed.shows('This extension is out of date')
  await until(() => installed.badge === '1')
  const { error } = await installed.ask({ ask: 'sign-out', discardUnsent: false })
  t.equal(error?.name, 'StoreVersionError', 'the page asks first')
  await installed.ask({ ask: 'sign-out', discardUnsent: true })
  await installed.shows('Not set up yet')
  t.same(await indexedDB.databases(), [{ name: 'encrypted-bookmark-sync-keys', version: 1 }])
})

t.test('A worker reports keys that a newer version has stored, and other errors in the browser’s words', async (t) => {
  const installed = await install(t)
  await openNewer('encrypted-bookmark-sync-keys')
  installed.run()
  await installed.shows('This extension is out of date')
  const unknown = new DOMException('Internal error opening backing store', 'UnknownError')
  const mend = breakStores(t, 'encrypted-bookmark-sync-keys', unknown)
  await installed.shows('Stopped')
  t.match(
    describe(await installed.state()).detail,
    /This browser reports: Internal error opening backing store\. The extension tries/,
  )
  mend()
})

t.test('The details for a fault report have counts and states, but nothing of the stored bookmarks', async (t) => {
  const installed = await install(t)
  installed.model.create({ parentId: '1', title: 'Secret', url: 'https://secret.example/' })
  installed.run()
  await installed.shows('In step')
  const { explained } = await installed.ask({ ask: 'explain' })
  t.match(explained, { setup: 'ready', fault: null, refused: 0, sync: { bookmarks: 2, waiting: [] } })
  const text = JSON.stringify(explained)
  t.notMatch(text, /secret|example|http|"device"|BwcH|7,7/i)
  t.notMatch(text, installed.connection.userId)
})

t.test('Bookmarks that look like copies wait for an answer of the user, who sees where each of them is', async (t) => {
  const installed = await install(t)
  const { model } = installed
  const sync = openElsewhere(installed, ['bookmark'])
  const news = { title: 'News', url: 'https://news.example/' }
  await sync.put({ id: 'news', ...news, source: 'bookmarks' })
  await sync.syncNow()
  const { id } = model.create({ parentId: '1', ...news })
  installed.run()
  await installed.shows('A question waits for you')
  await until(() => installed.badge === '1')
  const { copies } = await installed.ask({ ask: 'held' })
  t.same(copies, [{ id: 'news', here: 'Bookmarks bar › News', elsewhere: 'Other bookmarks › News' }])
  t.same([model.childrenOf('1'), model.childrenOf('2')], [[id], []], 'nothing has been changed')
  await installed.ask({ ask: 'decide-copies', ids: ['news'], areOne: true })
  await installed.shows('In step')
  t.same([model.childrenOf('1'), model.childrenOf('2')], [[], [id]])
  await until(() => installed.badge === '')
})

t.test('The state tells a busy server from a faulty or missing one, and the time of the next attempt', async (t) => {
  const installed = await install(t)
  const refusal = { status: 0, after: '' }
  installed.refuse = ({ url }) => {
    if (!refusal.status || !url.endsWith('/sync/pull')) return undefined
    const headers = { 'x-error-code': 'Unavailable', ...(refusal.after && { 'retry-after': refusal.after }) }
    return Response.json({ error: 'Service unavailable' }, { status: refusal.status, headers })
  }
  Object.assign(refusal, { status: 429, after: '50' })
  const before = Date.now()
  installed.run()
  await installed.shows('Your server is busy')
  const { retryAt = 0 } = (await installed.state()).sync ?? {}
  t.ok(retryAt >= before + 50_000 && retryAt <= Date.now() + 50_000, 'during the wait itself')
  Object.assign(refusal, { status: 500, after: '' })
  await installed.ask({ ask: 'start' })
  await installed.shows('Your server has a problem')
  refusal.status = 0
  installed.connection.goOffline()
  await installed.ask({ ask: 'sync-now' })
  await installed.shows('Offline')
  installed.connection.goOnline()
  await installed.ask({ ask: 'sync-now' })
  await installed.shows('In step')
})

for (const way of ['an alarm', 'a button'] as const) {
  t.test(`After a temporary 401, ${way} makes everything go on`, async (t) => {
    const installed = await install(t)
    installed.run()
    await installed.shows('In step')
    await installed.connection.endSession()
    await installed.shows('You are signed out')
    t.equal(installed.badge, '1')
    await installed.connection.signIn()
    if (way === 'an alarm') installed.happens('alarm')
    else await installed.ask({ ask: 'sync-now' })
    await installed.shows('In step')
    await until(async () => (await installed.state()).sync?.state === 'online')
    t.equal(installed.badge, '')
  })
}

t.test('A removed permission is reported; once it is given again, everything goes on by itself', async (t) => {
  const installed = await install(t)
  installed.run()
  await installed.shows('In step')
  // Without the permission, the browser does not send the session's cookie.
  installed.isAllowed = false
  await installed.connection.endSession()
  installed.happens('forbidden')
  await installed.shows('The extension has no access to your server')
  await until(() => installed.badge === '1')
  installed.isAllowed = true
  await installed.connection.signIn()
  installed.happens('allowed')
  await until(() => installed.badge === '')
  await installed.shows('In step')
})
