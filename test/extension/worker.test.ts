import 'fake-indexeddb/auto'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import t, { type Test } from 'tap'
import { historyId } from '../../src/client/crypto/derived-id.ts'
import { resultOf } from '../../src/client/database.ts'
import { createClient, createSync, deriveKeys, keepMasterKey, memoryStore, unwrap } from '../../src/client/index.ts'
import { forgetMasterKey } from '../../src/client/vault/master-key.ts'
import { describe } from '../../src/extension/app/describe.ts'
import type { Answer, Question, WorkerState } from '../../src/extension/app/platform.ts'
import type { Settings } from '../../src/extension/app/settings.ts'
import { startService, type TestConnection } from '../../src/service/testing.ts'
import { until } from '../support/until.ts'
import { BrowserModel, type Flavour } from './browser-model.ts'
import { addToChrome } from './chrome.ts'
import { masterKey } from './device.ts'
import { HistoryModel } from './history-model.ts'
import { TabsModel } from './tabs-model.ts'
import { i18nOf } from './texts.ts'

// The popup's texts, which this process shows.
addToChrome({ i18n: i18nOf('en') })
const entry = fileURLToPath(new URL('../../src/extension/app/worker.ts', import.meta.url))
const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'iife', write: false })
const code = outputFiles[0]?.text ?? ''

const service = await startService()
t.teardown(() => service.close())

type Suggestion = Record<'content' | 'description', string>
type Typed = (words: string, suggest: (found: Suggestion[]) => void) => void

/** The example's worker in a browser in memory, set up by its user. */
class Installed {
  connection: TestConnection
  readonly model = new BrowserModel('chrome')
  readonly #listeners = new Map<string, ((...values: never[]) => void)[]>()
  /** The user has allowed the extension to read the history. */
  history: HistoryModel | undefined
  isAllowed = true
  readonly tabs = new TabsModel()
  /** Whether tab groups are on. */
  seesTabs = false
  isFirefox = false
  /** Firefox: the permission to send what is visited. */
  sendsActivity = true
  /** Answers in the service's place. */
  refuse: (request: Request) => Response | Promise<Response> | undefined = () => undefined
  badge = ''
  /** The lines that the address bar has offered last. */
  described: string[] = []
  readonly alarms = new Map<string, { when?: number }>()
  settings: () => Settings & { groups?: object } = () => ({})

  constructor(connection: TestConnection) {
    this.connection = connection
  }

  /** The browser starts the worker, with what an earlier one has stored. */
  run(): void {
    const listenTo = (name: string) => ({
      addListener: (listener: () => void) => {
        this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener])
      },
    })
    // An earlier worker hears nothing any more.
    this.#listeners.clear()
    const { tabGroups, ...others } = this.tabs.api()
    const sees = () => this.seesTabs
    const history = () => this.history?.api()
    let settings: Settings & { groups?: object } = { ...this.#ownSettings(), ...this.settings() }
    this.settings = () => settings
    const session = {}
    const chrome = {
      ...others,
      get tabGroups() {
        return sees() ? tabGroups : undefined
      },
      bookmarks: this.model.api(),
      cookies: { onChanged: listenTo('cookie'), get: async () => null },
      alarms: {
        create: (name: string, info: object) => this.alarms.set(name, info),
        get: async () => undefined,
        onAlarm: listenTo('alarm'),
      },
      action: { setBadgeText: async ({ text }: { text: string }) => (this.badge = text), setBadgeBackgroundColor() {} },
      permissions: {
        contains: async ({ origins, permissions }: { origins?: string[]; permissions?: string[] }) =>
          origins ? this.isAllowed : permissions?.includes('tabs') ? this.seesTabs : this.history !== undefined,
        remove: async ({ permissions = [], data_collection }: Partial<Record<string, string[]>>) => {
          if (data_collection?.join() === 'browsingActivity') this.sendsActivity = false
          if (permissions.includes('tabs')) this.seesTabs = false
          if (permissions.includes('history')) this.history = undefined
          this.happens('forbidden')
        },
        onAdded: listenTo('allowed'),
        onRemoved: listenTo('forbidden'),
      },
      i18n: i18nOf('en'),
      get history() {
        return history()
      },
      omnibox: {
        setDefaultSuggestion() {},
        ...{
          onInputStarted: listenTo('started'),
          onInputChanged: listenTo('typed'),
          onInputEntered: listenTo('entered'),
        },
      },
      runtime: {
        getURL: (path: string) => `chrome-extension://id/${path}`,
        getPlatformInfo: async () => ({}),
        ...(this.isFirefox && { getBrowserInfo() {} }),
        ...{
          onStartup: listenTo('startup'),
          onSuspend: listenTo('suspend'),
          onInstalled: listenTo('installed'),
          onMessage: listenTo('message'),
        },
      },
      storage: {
        session: { get: async () => session, set: async (values: object) => void Object.assign(session, values) },
        local: {
          get: async () => settings,
          set: async (values: Settings) => void Object.assign(settings, values),
          remove: async (names: string | string[]) => {
            const left = Object.entries(settings).filter(([name]) => ![names].flat().includes(name))
            settings = Object.fromEntries(left)
          },
        },
      },
    }
    const fetch = async (request: Request) => this.refuse(request) ?? this.connection.fetch(request)
    const openSocket = (url: string) => this.connection.webSocket(url)
    // biome-ignore lint/complexity/useArrowFunction: it is called by `new`
    const WebSocket = function (url: string) {
      return openSocket(url)
    }
    new Function('chrome', 'fetch', 'WebSocket', code)(chrome, fetch, WebSocket)
  }

  /** Another person sets it up. */
  async setUp(connection: TestConnection): Promise<void> {
    this.connection = connection
    await keepMasterKey(connection.userId, masterKey)
    Object.assign(this.settings(), this.#ownSettings())
    await this.ask({ ask: 'start' })
  }

  #ownSettings(): Settings {
    const { baseUrl, userId } = this.connection
    return { baseUrl, deviceId: 'device', userId }
  }

  happens(event: 'alarm' | 'allowed' | 'forbidden'): void {
    for (const listener of this.#listeners.get(event) ?? []) listener()
  }

  /** Types after the keyword in the address bar. Returns the suggested addresses. */
  async type(words: string): Promise<string[]> {
    return new Promise((resolve) => {
      const suggest = (found: Suggestion[]) => {
        this.described = found.map(({ description }) => description)
        resolve(found.map(({ content }) => content))
      }
      for (const listener of this.#listeners.get('typed') ?? []) (listener as Typed)(words, suggest)
    })
  }

  async ask(question: Question): Promise<Answer> {
    const [listener] = this.#listeners.get('message') as unknown as ((
      question: Question,
      sender: object,
      respond: (answer: Answer) => void,
    ) => void)[]
    return new Promise((resolve) => listener?.(question, {}, resolve))
  }

  /** Waits until the popup, which asks every second, has this headline. */
  async shows(headline: string): Promise<void> {
    await until(async () => describe(await this.state()).headline === headline)
  }

  async state(): Promise<WorkerState> {
    const { state } = await this.ask({ ask: 'state' })
    if (!state) throw new Error('The worker has answered with an error')
    return state
  }
}

async function install(t: Test): Promise<Installed> {
  globalThis.indexedDB = new IDBFactory()
  const connection = await service.connect(randomUUID())
  await keepMasterKey(connection.userId, masterKey)
  const installed = new Installed(connection)
  // Nothing of it runs any more.
  t.teardown(() => installed.ask({ ask: 'pause' }))
  return installed
}

/** Makes stores with this prefix fail with `error`, or never respond without one. Returns a function that ends this. */
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
  t.test(`A worker on a full disk says so, and goes on once there is space: ${place}`, async (t) => {
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
  t.test(`A worker whose browser does not open a store says so, and goes on once it does: ${place}`, async (t) => {
    const { setTimeout: later } = globalThis
    let isBroken = true
    // The time without a response after which opening is given up.
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

/** The stored data that a later version of the extension leaves behind. */
async function openNewer(name: string): Promise<void> {
  await new Promise((resolve) => {
    indexedDB.open(name, 9).onsuccess = ({ target }) => {
      ;(target as IDBOpenDBRequest).result.close()
      resolve(undefined)
    }
  })
}

t.test('A store of a newer version is told as such, and given up only if its user says so', async (t) => {
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

t.test('A worker that finds what a newer version stored says so; else it uses the words of the browser', async (t) => {
  const installed = await install(t)
  await openNewer('encrypted-bookmark-sync-keys')
  installed.run()
  await installed.shows('This extension is out of date')
  const unknown = new DOMException('Internal error opening backing store', 'UnknownError')
  const mend = breakStores(t, 'encrypted-bookmark-sync-keys', unknown)
  await installed.shows('Stopped')
  t.match(
    describe(await installed.state()).detail,
    /This browser says: Internal error opening backing store\. It is tried/,
  )
  mend()
})

t.test('What the popup shows for a fault report has counts and states, and nothing of what is stored', async (t) => {
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

t.test('What looks like copies waits for the answer of its user, who is told where each of them is', async (t) => {
  const installed = await install(t)
  const { connection, model } = installed
  const sync = createSync({
    ...connection,
    client: createClient({ ...connection, deviceId: 'elsewhere' }),
    ...{ keys: deriveKeys(masterKey), deviceId: 'elsewhere', store: memoryStore() },
  })
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

t.test('A server that is busy, at fault or away is told apart, and the wait is told', async (t) => {
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
  await installed.shows('Your server asks to wait')
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
  t.test(`After a 401 that has passed, ${way} lets everything go on`, async (t) => {
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

t.test('A permission that was taken away is told as such; given back, everything goes on by itself', async (t) => {
  const installed = await install(t)
  installed.run()
  await installed.shows('In step')
  // The browser sends no cookie without it.
  installed.isAllowed = false
  await installed.connection.endSession()
  installed.happens('forbidden')
  await installed.shows('This browser keeps the extension from your server')
  await until(() => installed.badge === '1')
  installed.isAllowed = true
  await installed.connection.signIn()
  installed.happens('allowed')
  await until(() => installed.badge === '')
  await installed.shows('In step')
})

/** The database that the worker keeps of its browser's history. */
async function readVisits({ connection }: Installed): Promise<{ states: unknown[]; pages: unknown[] }> {
  const opening = indexedDB.open(`encrypted-bookmark-sync-visits-${connection.userId}`)
  const database = await resultOf(opening)
  const transaction = database.transaction(['state', 'pages'])
  const [states, pages] = await Promise.all(
    ['state', 'pages'].map((name) => resultOf<unknown[]>(transaction.objectStore(name).getAll())),
  )
  database.close()
  return { states: states ?? [], pages: pages ?? [] }
}

t.test(
  'The browsing history is off until it is turned on, found in the address bar, and erased when its person says so',
  async (t) => {
    const installed = await install(t)
    const history = new HistoryModel('chrome')
    installed.history = history
    const page = 'https://visited.example/'
    // A minute ago.
    history.visit(page, { title: 'Visited & found', visitTime: Date.now() - 60_000 })
    history.visit('https://odd.example/', { title: 'A\u0000b\u001b<c\ud800\ufffe', visitTime: Date.now() - 60_000 })
    installed.model.create({ parentId: '1', title: 'Marked', url: 'https://marked.example/' })
    installed.run()
    await installed.shows('In step')
    installed.happens('alarm')
    t.same([(await installed.ask({ ask: 'visits' })).visits, await installed.type('visited')], [undefined, []])
    t.same(await installed.type('marked'), ['https://marked.example/'])
    const { visits } = await installed.ask({ ask: 'visits', act: { do: 'turn-on' } })
    t.match(visits, { keptDays: 90, count: 0, isCleared: false })
    await until(async () => {
      installed.happens('alarm')
      return (await installed.ask({ ask: 'visits' })).visits?.count === 2
    })
    t.equal((installed.alarms.get('visits')?.when ?? 1) % 60_000, 0, 'the service does not learn the second of a visit')
    t.same(await installed.type('found visited'), [page])
    t.same(installed.described, ['Visited &#38; found · https://visited.example/'])
    await installed.type('odd')
    t.same(installed.described, ['A b &#60;c   · https://odd.example/'])
    const found = await installed.ask({ ask: 'visits', act: { do: 'find', words: 'FOUND' } })
    t.match(found.visits?.pages, [{ url: page, title: 'Visited & found' }])
    installed.history = undefined
    installed.happens('forbidden')
    await until(async () => (await installed.ask({ ask: 'visits' })).visits === undefined)
    t.same([await installed.type('visited'), (await readVisits(installed)).pages], [[], []], 'no address stays here')
    installed.history = history
    installed.happens('allowed')
    await until(async () => (await installed.ask({ ask: 'visits' })).visits?.count === 2)
    const { visits: paused } = await installed.ask({ ask: 'visits', act: { do: 'pause', forHours: 1 } })
    t.type(paused?.pausedUntil, 'number')
    history.clear()
    await until(async () => (await installed.ask({ ask: 'held' })).visits?.isCleared === true)
    await installed.ask({ ask: 'visits', act: { do: 'answer-cleared', everywhere: false } })
    t.match((await installed.ask({ ask: 'visits' })).visits, { count: 2, isCleared: false })
    history.visit(page, { visitTime: Date.now() })
    history.remove(page)
    // During the pause, nothing is sent.
    await until(async () => (await installed.type('found')).length === 0)
    t.match((await installed.ask({ ask: 'visits', act: { do: 'find', words: '' } })).visits, { pages: { length: 1 } })
    await installed.ask({ ask: 'visits', act: { do: 'change', keptDays: 30, sites: ['bank.example'] } })
    await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: false } })
    t.match(await readVisits(installed), { states: [{ sites: ['bank.example'] }], pages: [] })
    const again = await installed.ask({ ask: 'visits', act: { do: 'turn-on' } })
    t.match(again.visits, { keptDays: 30, sites: ['bank.example'] })
    t.equal(again.visits?.pausedUntil, undefined)
    installed.refuse = ({ url }) => (url.endsWith('/sync/push') ? new Response('', { status: 503 }) : undefined)
    const off = await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: true } })
    t.same(
      [off.error, off.visits, installed.settings().visits],
      [undefined, undefined, false],
      'also while it is offline',
    )
    t.same(await installed.type('visited'), [])
    installed.refuse = () => undefined
    await installed.ask({ ask: 'sync-now' })
    const elsewhere = historyElsewhere(installed)
    await elsewhere.syncNow()
    t.equal(elsewhere.history.records().size, 0)
  },
)

/** The history is on, and its page is stored. */
async function withHistory(
  t: Test,
  page: string,
  flavour: Flavour = 'chrome',
): Promise<{ installed: Installed; history: HistoryModel }> {
  const installed = await install(t)
  const history = new HistoryModel(flavour)
  installed.history = history
  history.visit(page, { title: 'Visited', visitTime: Date.now() - 60_000 })
  installed.run()
  await installed.shows('In step')
  await installed.ask({ ask: 'visits', act: { do: 'turn-on' } })
  await until(async () => {
    installed.happens('alarm')
    return (await installed.ask({ ask: 'visits' })).visits?.count === 1
  })
  await until(async () => (await installed.state()).sync?.waiting === 0)
  return { installed, history }
}

t.test('While the sync is paused, the browsing history can be turned off, and nothing else seems done', async (t) => {
  const { installed } = await withHistory(t, 'https://visited.example/')
  await installed.ask({ ask: 'pause' })
  for (const act of [
    { do: 'turn-off', erases: true },
    { do: 'pause' },
    { do: 'change', keptDays: 30, sites: ['bank.example'] },
  ] as const) {
    const { error } = await installed.ask({ ask: 'visits', act })
    t.equal(error?.message, 'Nothing was changed. Press “Go on” in the popup first', act.do)
  }
  t.equal(installed.settings().visits, true)
  const { error } = await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: false } })
  t.same([error, installed.settings().visits], [undefined, false])
  t.notMatch(await storedIn(installed.connection.userId), /visited\.example/)
  const { states, pages } = await readVisits(installed)
  const [{ pauses = [] } = {}] = states as { pauses?: { from: number; to?: number }[] }[]
  t.same(pages, [], 'no address stays here')
  t.ok(
    pauses.some(({ to }) => to === undefined),
    'what is visited from now on is never stored',
  )
})

for (const when of ['during a pause', 'and its worker is stopped', 'during a pause, and its worker is stopped'])
  t.test(`What a person turns off in the browser leaves nothing in the extension: ${when}`, async (t) => {
    const { installed, history } = await withHistory(t, 'https://visited.example/')
    const { tabs, connection } = installed
    installed.seesTabs = true
    installed.happens('allowed')
    tabs.look(tabs.tabsOf(tabs.openGroup('', 'red', ['https://grouped.example/']))[0] as number)
    const save = { ask: 'groups', act: { do: 'save', what: 'group', title: 'Work' } } as const
    await until(async () => (await installed.ask(save)).groups?.list[0]?.tabs.length === 1)
    await until(async () => (await installed.state()).sync?.waiting === 0)
    await installed.ask({ ask: 'pause' })
    t.match(await storedIn(connection.userId), /visited\.example.*grouped\.example|grouped\.example.*visited\.example/)
    t.not(installed.settings().groups, undefined)

    Object.assign(installed, { seesTabs: false, history: undefined })
    installed.settings().isPaused = when.includes('pause')
    if (when.includes('stopped')) installed.run()
    else installed.happens('forbidden')
    await until(async () => !/visited|grouped/.test(await storedIn(connection.userId)))
    await until(() => installed.settings().groups === undefined)

    await installed.ask({ ask: 'resume' })
    await installed.shows('In step')
    installed.history = history
    installed.happens('allowed')
    await until(async () => (await installed.ask({ ask: 'visits' })).visits?.count === 1)
  })

t.test('A removal is dated by the clock of the service, whose responses are a day behind here', async (t) => {
  const page = 'https://visited.example/'
  const { installed, history } = await withHistory(t, page)
  const [{ visitTime = 0 } = {}] = history.pages.get(page)?.visits ?? []
  installed.refuse = (request) =>
    installed.connection.fetch(request).then((response) => {
      const { body, status } = response
      const headers = new Headers(response.headers)
      headers.set('date', new Date(Date.now() - 86_400_000).toUTCString())
      return new Response(body, { status, headers })
    })
  await installed.ask({ ask: 'sync-now' })
  history.remove(page)
  await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: false } })
  const elsewhere = historyElsewhere(installed)
  await elsewhere.syncNow()
  const removals = [...elsewhere.history.records().values()].map(({ dateModified }) => dateModified)
  t.same(removals, [new Date(visitTime).toISOString()], 'not earlier than the visit that it knows')
})

t.test('Once it is turned off, the history is not offered, and goes when its last visit is sent', async (t) => {
  const { installed, history } = await withHistory(t, 'https://visited.example/')
  const { userId } = installed.connection
  installed.refuse = ({ url }) => (url.endsWith('/sync/push') ? new Response('', { status: 503 }) : undefined)
  history.visit('https://unsent.example/', { title: 'Unsent', visitTime: Date.now() })
  await passMinute(async () => {
    installed.happens('alarm')
    return (await installed.state()).sync?.waiting === 1
  })
  t.same(await installed.type('visited'), ['https://visited.example/'])
  await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: false } })
  await until(async () => (await installed.state()).sync?.waiting === 1)
  t.same(await installed.type('visited'), [])
  installed.refuse = () => undefined
  await installed.ask({ ask: 'sync-now' })
  t.notMatch(await storedIn(userId), /visited|unsent/)
})

for (const clock of ['right', 'set back since'])
  t.test(`The history of a person begins when the one before them signed out: the clock is ${clock}`, async (t) => {
    const { installed, history } = await withHistory(t, 'https://visited.example/', 'firefox')
    const elsewhere = historyElsewhere(installed)
    const url = 'https://phone.example/'
    const dateVisited = new Date(Date.now() - 3_600_000).toISOString()
    const visited = { dateAdded: dateVisited, dateVisited, visits: [dateVisited], visitCount: 1 }
    await elsewhere.history.put([
      { id: historyId(deriveKeys(masterKey), url), url, title: '', source: 'history', ...visited },
    ])
    await elsewhere.syncNow()
    await installed.ask({ ask: 'sync-now' })
    await passMinute(async () => {
      installed.happens('alarm')
      return history.pages.has(url)
    })
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
    await installed.setUp(await service.connect(randomUUID()))
    await installed.shows('In step')
    await installed.ask({ ask: 'visits', act: { do: 'turn-on' } })
    await installed.ask({ ask: 'visits', act: { do: 'change', keptDays: 365, sites: [] } })
    history.visit('https://own.example/', { visitTime: Date.now() })
    await passMinute(async () => {
      installed.happens('alarm')
      const { visits } = await installed.ask({ ask: 'visits' })
      return visits?.count !== 0 && visits?.isCatchingUp === false
    })
    const { visits } = await installed.ask({ ask: 'visits', act: { do: 'find', words: '' } })
    t.match(visits?.pages, { 0: { url: 'https://own.example/' }, length: 1 })
  })

/** A network in which no request is answered. */
const hanging = ({ signal }: Request) =>
  new Promise<Response>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))

const outages: [name: string, answer: (request: Request) => Response | Promise<Response>][] = [
  ['without a network', () => Promise.reject(new TypeError('Failed to fetch'))],
  ['once the session is over', () => new Response('', { status: 401 })],
  ['while the network hangs', hanging],
]
for (const [when, answer] of outages)
  t.test(`A removal that cannot be sent keeps no other page here once the history is off: ${when}`, async (t) => {
    const { installed, history } = await withHistory(t, 'https://visited.example/')
    const { userId } = installed.connection
    history.visit('https://other.example/', { title: 'Other', visitTime: Date.now() })
    await passMinute(async () => {
      installed.happens('alarm')
      return (await installed.ask({ ask: 'visits' })).visits?.count === 2
    })
    await until(async () => (await installed.state()).sync?.waiting === 0)
    history.remove('https://visited.example/')
    installed.refuse = answer
    const { error } = await installed.ask({ ask: 'visits', act: { do: 'turn-off', erases: false } })
    t.same([error, installed.settings().visits], [undefined, false])
    await until(async () => !/(visited|other)\.example/.test(await storedIn(userId)))
    t.same(await installed.type('example'), [])
    t.equal((await installed.state()).sync?.waiting, 1)
    installed.refuse = () => undefined
    await installed.ask({ ask: 'sync-now' })
    await until(async () => !(await storedIn(userId)).includes('history\\t'))
    t.equal((await installed.state()).sync?.waiting, 0)
  })

t.test('A sign-out forgets its person although a removal cannot be sent, because the network hangs', async (t) => {
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

for (const question of [
  { ask: 'visits', act: { do: 'turn-off', erases: false } },
  { ask: 'sign-out', discardUnsent: false },
] as const)
  t.test(`What was removed less than a minute before is removed everywhere: ${question.ask}`, async (t) => {
    const page = 'https://visited.example/'
    const { installed, history } = await withHistory(t, page)
    history.remove(page)
    t.equal((await installed.ask(question)).error, undefined)
    await installed.connection.signIn()
    const elsewhere = historyElsewhere(installed)
    await until(async () => {
      if (question.ask === 'visits') await installed.ask({ ask: 'sync-now' })
      await elsewhere.syncNow()
      return [...elsewhere.history.records().values()].every(({ url }) => url === undefined)
    })
    t.equal(elsewhere.history.records().size, 1)
  })

t.test(
  'Tab groups are off until the browser allows them, and leave nothing here once they are turned off',
  async (t) => {
    const installed = await install(t)
    const { tabs } = installed
    installed.run()
    await installed.shows('In step')
    t.equal((await installed.ask({ ask: 'groups' })).groups, undefined)
    t.equal(installed.settings().groups, undefined)
    installed.seesTabs = true
    installed.happens('allowed')
    await until(async () => (await installed.ask({ ask: 'groups' })).groups !== undefined)
    tabs.look(tabs.tabsOf(tabs.openGroup('', 'red', ['https://example.org/a']))[0] as number)
    const save = { ask: 'groups', act: { do: 'save', what: 'group', title: 'Work' } } as const
    await until(async () => (await installed.ask(save)).groups?.list[0]?.tabs.length === 1)
    const { groups } = await installed.ask({ ask: 'groups' })
    t.match(groups, { list: [{ title: 'Work', isOpen: true }], refused: [], failed: [] })
    t.same(await installed.type('title /a'), ['https://example.org/a'], 'the address bar finds its tab')
    const act = { do: 'open', id: groups?.list[0]?.id ?? '', inNewWindow: false, most: 0 } as const
    tabs.close(tabs.tabsOf([...tabs.groups.keys()][0] as number))
    t.match((await installed.ask({ ask: 'groups', act })).groups, { isTooLarge: true, list: [{ isOpen: false }] })
    const opened = await installed.ask({ ask: 'groups', act: { ...act, most: 1 } })
    t.match(opened.groups, { isTooLarge: false, list: [{ isOpen: true }] })
    const { error } = await installed.ask({ ask: 'groups', act: { do: 'remove', id: 'none' } })
    t.equal(error?.name, 'RangeError')
    await until(async () => (await installed.state()).sync?.waiting === 0)
    installed.seesTabs = false
    installed.happens('forbidden')
    await until(async () => (await installed.ask({ ask: 'groups' })).groups === undefined)
    await until(() => installed.settings().groups === undefined)
    t.same([tabs.text, await installed.type('title /a')], [['Work red: https://example.org/a'], []], 'the tabs stay')
    await until(async () => !(await storedIn(installed.connection.userId)).includes('example.org'))
    installed.seesTabs = true
    installed.happens('allowed')
    await until(async () => (await installed.ask(save)).groups !== undefined)
    t.not(installed.settings().groups, undefined)
    await installed.ask({ ask: 'pause' })
    installed.seesTabs = false
    installed.happens('forbidden')
    await until(() => installed.settings().groups === undefined)
  },
)

for (const when of ['without a network', 'once the account is deleted']) {
  t.test(`Nothing of tab groups stays after a sign-out, and the next person has them off: ${when}`, async (t) => {
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

    await installed.setUp(await service.connect(randomUUID()))
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

t.test('A sign-out asks about unsent edits also if the browser has lost the key', async (t) => {
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

/** Another device of the same person, with the browsing history. */
function historyElsewhere({ connection }: Installed) {
  const deviceId = 'elsewhere'
  const client = createClient({ ...connection, deviceId })
  const keys = deriveKeys(masterKey)
  return createSync({ ...connection, client, keys, deviceId, store: memoryStore(), types: ['history'] })
}

/** Waits for the condition while the clock is a minute further. */
async function passMinute(condition: () => Promise<boolean>): Promise<void> {
  const { now } = Date
  Date.now = () => now() + 70_000
  await until(condition)
  Date.now = now
}

/** All that this person has stored, as JSON. */
async function storedIn(userId: string): Promise<string> {
  const names = (await indexedDB.databases()).flatMap(({ name = '' }) => (name.includes(userId) ? name : []))
  const all = names.map(async (name) => {
    const db = await resultOf(indexedDB.open(name))
    const stores = [...db.objectStoreNames].map((store) => resultOf(db.transaction(store).objectStore(store).getAll()))
    const rows = await Promise.all(stores)
    db.close()
    return rows
  })
  return JSON.stringify(await Promise.all(all))
}
