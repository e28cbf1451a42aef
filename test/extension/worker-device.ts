import 'fake-indexeddb/auto'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import root, { type Test } from 'tap'
import type { EntityType } from '../../src/client/bookmark.ts'
import { resultOf } from '../../src/client/database.ts'
import { createClient, createSync, deriveKeys, keepMasterKey, memoryStore } from '../../src/client/index.ts'
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

// This process uses the popup's texts in `shows`.
addToChrome({ i18n: i18nOf('en') })
const entry = fileURLToPath(new URL('../../src/extension/app/worker.ts', import.meta.url))
const { outputFiles } = await build({ entryPoints: [entry], bundle: true, format: 'iife', write: false })
const code = outputFiles[0]?.text ?? ''

const service = await startService()
root.teardown(() => service.close())

type Suggestion = Record<'content' | 'description', string>
type Typed = (words: string, suggest: (found: Suggestion[]) => void) => void

/** The example's worker in a browser in memory, whose user has signed in and opened the vault. */
export class Installed {
  connection: TestConnection
  readonly model = new BrowserModel('chrome')
  readonly #listeners = new Map<string, ((...values: never[]) => void)[]>()
  /** Set if the user has allowed the extension to read the history. */
  history: HistoryModel | undefined
  isAllowed = true
  readonly tabs = new TabsModel()
  /** True if the user has allowed the extension to see tabs. */
  seesTabs = false
  isFirefox = false
  /** Firefox only: true if the extension may send the browsing activity. */
  sendsActivity = true
  /** Responds instead of the service, unless it returns undefined. */
  refuse: (request: Request) => Response | Promise<Response> | undefined = () => undefined
  badge = ''
  /** The lines that the address bar has offered last. */
  described: string[] = []
  readonly alarms = new Map<string, { when?: number }>()
  settings: () => Settings & { groups?: object } = () => ({})

  constructor(connection: TestConnection) {
    this.connection = connection
  }

  /** Starts a worker on the data that an earlier one has stored. */
  run(): void {
    const listenTo = (name: string) => ({
      addListener: (listener: () => void) => {
        this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), listener])
      },
    })
    // The earlier worker receives no more events.
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
            settings = Object.fromEntries(Object.entries(settings).filter(([name]) => ![names].flat().includes(name)))
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

  /** Another person sets the extension up. */
  async setUpByAnother(): Promise<void> {
    this.connection = await service.connect(randomUUID())
    await keepMasterKey(this.connection.userId, masterKey)
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

  /** Waits until the popup would have this headline. */
  async shows(headline: string): Promise<void> {
    await until(async () => describe(await this.state()).headline === headline)
  }

  /** Waits until this many pages of the history are stored. */
  stores(pages: number): Promise<void> {
    return this.#alarmUntil(async () => (await this.ask({ ask: 'visits' })).visits?.count === pages)
  }

  /** Waits for the condition while the clock is a minute ahead. */
  async passMinute(condition: () => Promise<boolean>): Promise<void> {
    const { now } = Date
    Date.now = () => now() + 70_000
    await this.#alarmUntil(condition)
    Date.now = now
  }

  #alarmUntil(condition: () => Promise<boolean>): Promise<void> {
    return until(() => {
      this.happens('alarm')
      return condition()
    })
  }

  async state(): Promise<WorkerState> {
    const { state } = await this.ask({ ask: 'state' })
    if (!state) throw new Error('The worker has answered with an error')
    return state
  }
}

export async function install(t: Test): Promise<Installed> {
  globalThis.indexedDB = new IDBFactory()
  const connection = await service.connect(randomUUID())
  await keepMasterKey(connection.userId, masterKey)
  const installed = new Installed(connection)
  // Stops the device at the end of the test.
  t.teardown(() => installed.ask({ ask: 'pause' }))
  return installed
}

/** A worker with the history turned on, and this page stored. */
export async function withHistory(t: Test, page: string, flavour: Flavour = 'chrome') {
  const installed = await install(t)
  const history = new HistoryModel(flavour)
  installed.history = history
  history.visit(page, { title: 'Visited', visitTime: Date.now() - 60_000 })
  installed.run()
  await installed.shows('In step')
  await installed.ask({ ask: 'visits', act: { do: 'turn-on' } })
  await installed.stores(1)
  await until(async () => (await installed.state()).sync?.waiting === 0)
  return { installed, history }
}

/** Another device of the same person. */
export function openElsewhere({ connection }: Installed, types: readonly EntityType[] = ['history']) {
  const deviceId = 'elsewhere'
  const client = createClient({ ...connection, deviceId })
  const keys = deriveKeys(masterKey)
  return createSync({ ...connection, client, keys, deviceId, store: memoryStore(), types })
}

/** The data that the worker has stored about its browser's history. */
export async function readVisits({ connection }: Installed): Promise<{ states: unknown[]; pages: unknown[] }> {
  const [pages = [], states = []] = await readStores(`encrypted-bookmark-sync-visits-${connection.userId}`)
  return { states, pages }
}

/** The contents of the user's databases in this browser, as JSON. */
export async function storedIn(userId: string): Promise<string> {
  const names = (await indexedDB.databases()).flatMap(({ name = '' }) => (name.includes(userId) ? name : []))
  return JSON.stringify(await Promise.all(names.map(readStores)))
}

/** The values of a database's object stores, in the order of their names. */
async function readStores(name: string): Promise<unknown[][]> {
  const opening = indexedDB.open(name)
  // It was deleted meanwhile: opening it must not create it again.
  opening.onupgradeneeded = () => opening.transaction?.abort()
  const db = await resultOf(opening).catch(() => undefined)
  if (!db) return []
  const stores = [...db.objectStoreNames].map((store) => db.transaction(store).objectStore(store))
  const values = await Promise.all(stores.map((store) => resultOf<unknown[]>(store.getAll())))
  db.close()
  return values
}
