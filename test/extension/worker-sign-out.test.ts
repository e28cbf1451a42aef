/** The data that the worker deletes at a sign-out, and the state in which the next person finds the extension. */
import t from 'tap'
import { historyId } from '../../src/client/crypto/derived-id.ts'
import { resultOf } from '../../src/client/database.ts'
import { createClient, deriveKeys, unwrap } from '../../src/client/index.ts'
import { forgetMasterKey } from '../../src/client/vault/master-key.ts'
import { until } from '../support/until.ts'
import { masterKey } from './device.ts'
import { HistoryModel } from './history-model.ts'
import { install, openElsewhere, storedIn, withHistory } from './worker-device.ts'

for (const clock of ['right', 'set back since'])
  t.test(`The history of a person begins when the previous person signed out: the clock is ${clock}`, async (t) => {
    const { installed, history } = await withHistory(t, 'https://visited.example/', 'firefox')
    const elsewhere = openElsewhere(installed)
    const url = 'https://phone.example/'
    const dateVisited = new Date(Date.now() - 3_600_000).toISOString()
    const visited = { dateAdded: dateVisited, dateVisited, visits: [dateVisited], visitCount: 1 }
    await elsewhere.history.put([
      { id: historyId(deriveKeys(masterKey), url), url, title: '', source: 'history', ...visited },
    ])
    await elsewhere.syncNow()
    await installed.ask({ ask: 'sync-now' })
    await installed.passMinute(async () => history.pages.has(url))
    const earlier = Date.now() - 100 * 86_400_000
    history.visit('https://earlier.example/', { visitTime: earlier })
    const { now } = Date
    if (clock !== 'right') {
      history.visit('https://ahead.example/', { visitTime: now() + 30_000 })
      Date.now = () => now() + 60_000
    }
    const { error } = await installed.ask({ ask: 'sign-out', discardUnsent: true })
    Date.now = now
    t.same([error, Object.keys(installed.settings())], [undefined, ['signedOutAt']])

    installed.history = history
    await installed.setUpByAnother()
    await installed.shows('In step')
    await installed.ask({ ask: 'visits', act: { do: 'turn-on' } })
    await installed.ask({ ask: 'visits', act: { do: 'change', keptDays: 365, sites: [] } })
    history.visit('https://own.example/', { visitTime: Date.now() })
    await installed.passMinute(async () => {
      const { visits } = await installed.ask({ ask: 'visits' })
      return visits?.count !== 0 && visits?.isCatchingUp === false
    })
    const { visits } = await installed.ask({ ask: 'visits', act: { do: 'find', words: '' } })
    t.match(visits?.pages, { 0: { url: 'https://own.example/' }, length: 1 })
  })

t.test('A sign-out deletes all data of its person even if the network hangs before a removal is sent', async (t) => {
  const { installed, history } = await withHistory(t, 'https://visited.example/')
  history.remove('https://visited.example/')
  const cut = Promise.withResolvers<Response>()
  installed.refuse = () => cut.promise
  const leaving = installed.ask({ ask: 'sign-out', discardUnsent: true })
  await until(async () => (await storedIn(installed.connection.userId)) === '[]')
  t.same([installed.history, installed.settings().visits], [undefined, false])
  cut.reject(new TypeError('Failed to fetch'))
  await leaving
})

for (const when of ['without a network', 'once the account is deleted']) {
  t.test(`A sign-out deletes all data of tab groups, which are off for the next person: ${when}`, async (t) => {
    const installed = await install(t)
    const { tabs, connection } = installed
    Object.assign(installed, { seesTabs: true, isFirefox: true, history: new HistoryModel('chrome') })
    installed.run()
    tabs.look(tabs.tabsOf(tabs.openGroup('', 'red', ['https://example.org/a', 'https://example.org/b']))[0] as number)
    const save = { ask: 'groups', act: { do: 'save', what: 'group', title: 'Work' } } as const
    await until(async () => (await installed.ask(save)).groups?.list[0]?.tabs.length === 2)
    await until(async () => (await installed.state()).sync?.waiting === 0)
    t.match(await storedIn(connection.userId), /example\.org/)
    const isOffline = when === 'without a network'
    if (isOffline) installed.refuse = () => new Response(null, { status: 503 })
    else unwrap(await createClient({ ...connection, deviceId: 'elsewhere' }).DELETE('/api/v1/account'))
    const { error } = await installed.ask({ ask: 'sign-out', discardUnsent: false })
    t.match(error?.message ?? '', isOffline ? /server/ : /^$/)
    const { seesTabs, history, sendsActivity } = installed
    t.same([seesTabs, history, sendsActivity], [false, undefined, false], 'the browser has its permissions back')
    await until(() => Object.keys(installed.settings()).join() === 'signedOutAt')
    t.notMatch(await storedIn(connection.userId), /example\.org/)
    installed.refuse = () => undefined

    await installed.setUpByAnother()
    await installed.shows('In step')
    t.equal((await installed.ask({ ask: 'groups' })).groups, undefined)
    installed.seesTabs = true
    installed.happens('allowed')
    await until(async () => (await installed.ask({ ask: 'groups' })).groups !== undefined)
    t.same((await installed.ask({ ask: 'groups' })).groups?.list, [])
    t.same(tabs.text, ['Work red: https://example.org/a https://example.org/b'], 'the tabs are those of the browser')
  })
}

t.test('A sign-out that stops half way leaves nothing of its person: no data, choices or permissions', async (t) => {
  const installed = await install(t)
  const { userId } = installed.connection
  installed.seesTabs = true
  installed.history = new HistoryModel('chrome')
  installed.history.visit('https://example.org/seen', { title: 'Seen', visitTime: Date.now() })
  installed.run()
  Object.assign(installed.settings(), { visits: true })
  await installed.ask({ ask: 'start' })
  await installed.shows('In step')
  await until(async () => (await installed.state()).sync?.waiting === 0)

  const { deleteDatabase } = indexedDB
  indexedDB.deleteDatabase = (name) => {
    if (name.includes('visits')) throw new DOMException('Disk', 'UnknownError')
    return deleteDatabase.call(indexedDB, name)
  }
  const { error } = await installed.ask({ ask: 'sign-out', discardUnsent: true })
  t.equal(error?.message, 'Disk')
  indexedDB.deleteDatabase = deleteDatabase
  t.match(await installed.state(), { setup: 'ready' }, 'the person can sign out again')
  t.same([installed.seesTabs, installed.history], [false, undefined])
  await until(async () => (await installed.state()).sync?.waiting === 0)

  const bookmarks = JSON.stringify([...installed.model.nodes])
  let isHanging = false
  const network = Promise.withResolvers<Response>()
  installed.refuse = ({ url }) => {
    if (!url.includes('logout')) return undefined
    isHanging = true
    return network.promise
  }
  void installed.ask({ ask: 'sign-out', discardUnsent: true })
  await until(() => isHanging)
  t.match(installed.settings(), { visits: false, groups: undefined, userId, signedOutAt: Number })
  t.same(await storedIn(userId), '[]')
  t.equal(JSON.stringify([...installed.model.nodes]), bookmarks)

  installed.run()
  await resultOf(indexedDB.open(`encrypted-bookmark-sync-visits-${userId}`)).then((left) => left.close())
  t.match(await installed.state(), { setup: 'locked' })
  await installed.ask({ ask: 'sign-out', discardUnsent: false })
  t.match(await installed.state(), { setup: 'new' })
  t.same(await storedIn(userId), '[]', 'also without a key')
  network.resolve(new Response(null, { status: 503 }))
})

t.test('A sign-out asks about unsent edits even if the browser has lost the key', async (t) => {
  const installed = await install(t)
  const { connection, model } = installed
  installed.run()
  await installed.shows('In step')
  installed.refuse = ({ url }) => (url.endsWith('/sync/push') ? new Response('', { status: 503 }) : undefined)
  model.create({ parentId: '1', title: 'Unsent', url: 'https://unsent.example/' })
  await until(async () => ((await installed.state()).sync?.waiting ?? 0) > 0)
  await forgetMasterKey(connection.userId)
  await installed.ask({ ask: 'start' })
  t.equal((await installed.state()).setup, 'locked')
  const { error } = await installed.ask({ ask: 'sign-out', discardUnsent: false })
  t.equal(error?.name, 'UnsentChangesError')
  t.match(await storedIn(connection.userId), /unsent\.example/)
  await installed.ask({ ask: 'sign-out', discardUnsent: true })
  t.equal(await storedIn(connection.userId), '[]')
})
