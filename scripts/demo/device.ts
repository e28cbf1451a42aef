import { WebSocket } from 'undici'
import type { Client, Conflict, components, Keys, OpenWebSocket, Sync } from '../../src/client/index.ts'
import { createClient, createSync, memoryStore } from '../../src/client/index.ts'
import { Browser } from './sign-in.ts'

type Schemas = components['schemas']

const push = '/api/v1/sync/push'
const pull = '/api/v1/sync/pull'
/** A change that takes longer than this counts as lost. It usually takes a few milliseconds. */
const patienceMs = 60_000

/** One device of a person, with its own cookies, keys and bookmarks. */
export class Device implements AsyncDisposable {
  readonly id: string
  readonly browser = new Browser()
  readonly client: Client
  userId = ''
  keys!: Keys
  sync!: Sync
  /** Conflicts, pushes and the successful responses to pushes and pulls, oldest first. */
  readonly conflicts: Conflict[] = []
  readonly pushes: Schemas['PushRequest'][] = []
  readonly answers: Schemas['PushResponse'][] = []
  readonly pages: Schemas['PullResponse'][] = []
  readonly #errors: Error[] = []
  readonly #store = memoryStore()

  constructor(id: string, baseUrl: URL) {
    this.id = id
    this.client = createClient({ baseUrl: baseUrl.origin, deviceId: id, fetch: this.browser.fetch })
    this.#watch()
  }

  /** Opens the app with the device's stored data. */
  open(keys: Keys): void {
    const { id: deviceId, userId, client } = this
    const withCookie = (url: string): unknown =>
      new WebSocket(url, { headers: { cookie: this.browser.cookiesFor(url) } })
    const webSocket = withCookie as OpenWebSocket
    this.keys = keys
    const types = ['bookmark', 'group', 'history'] as const
    this.sync = createSync({ client, webSocket, userId, deviceId, keys, store: this.#store, types })
    this.sync.on('conflict', (conflict) => this.conflicts.push(conflict))
    this.sync.on('error', ({ error }) => this.#errors.push(error))
  }

  /** Pulls and pushes. Fails at errors that `sync` would only report, such as a record that it cannot decrypt. */
  async syncNow(): Promise<void> {
    await this.sync.syncNow()
    const [error] = this.#errors
    if (error) throw error
  }

  /** The time of the device's pending edit of a bookmark (Unix ms). */
  async editedAt(bookmarkId: string): Promise<number> {
    const { rows } = await this.#store.read([bookmarkId])
    const edit = rows[0]?.waiting.at(-1)
    if (!edit) throw new Error(`The ${this.id} has no pending edit of ${bookmarkId}`)
    return edit.change.timestamp
  }

  /** The time that the device's next edit would get: its clock, corrected to the service's (Unix ms). */
  async now(): Promise<number> {
    const { meta } = await this.#store.load()
    return Date.now() + (meta?.clockOffset ?? 0)
  }

  async goOnline(): Promise<void> {
    await this.sync.start()
    await this.until('going online', 'status', () => this.sync.status().state === 'online')
  }

  /** Stops the sync. A stopped sync cannot be started again, so another one takes over the store. */
  async goOffline(): Promise<void> {
    await this.sync.stop()
    this.open(this.keys)
  }

  /** Resolves as soon as the condition holds. Checks it now and after each event of this kind. */
  until(what: string, event: 'change' | 'status', holds: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.sync.on(event, () => holds() && resolve())
      this.sync.on('error', ({ error }) => reject(error))
      setTimeout(reject, patienceMs, new Error(`On the ${this.id}, ${what} takes more than ${patienceMs} ms`)).unref()
      if (holds()) resolve()
    })
  }

  /** Shortens the pages of all later pulls, so that a short file has several, too. */
  shortenPages(limit: number): void {
    this.client.use({
      async onRequest({ schemaPath, request }) {
        if (schemaPath !== pull) return undefined
        return new Request(request, { body: JSON.stringify({ ...(await request.json()), limit }) })
      },
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sync?.stop()
  }

  /** Records pushes and pulls by openapi-fetch's middleware, which sees each call. */
  #watch(): void {
    const { pushes, answers, pages } = this
    this.client.use({
      async onRequest({ schemaPath, request }) {
        if (schemaPath === push) pushes.push(await request.clone().json())
      },
      async onResponse({ schemaPath, response }) {
        if (schemaPath === push && response.ok) answers.push(await response.clone().json())
        if (schemaPath === pull && response.ok) pages.push(await response.clone().json())
      },
    })
  }
}
