import { v7 as uuidv7 } from 'uuid'
import type { components } from '../../generated/openapi.ts'
import { bytesToBase64 } from '../../src/client/base64.ts'
import type { PlaintextBookmark } from '../../src/client/bookmark.ts'
import { createKeyring, openKeyring } from '../../src/client/keyring.ts'
import { deriveKeys, type Keys } from '../../src/client/keys.ts'
import { decryptBookmark, encryptBookmark } from '../../src/client/record.ts'
import { type Api, createApi } from './api.ts'
import { type Browser, openBrowser } from './browser.ts'
import { type Channel, openChannel } from './channel.ts'
import { signIn } from './sign-in.ts'

type Schemas = components['schemas']

/** A version of this device that another one overwrote without having seen it. */
export interface Overwritten {
  mine: PlaintextBookmark
  event: Schemas['SyncEvent']
}

/** One device of a person: its own cookies, its own copy of the bookmarks in the clear, its own place in the changes. */
export class Device {
  readonly id: string
  readonly api: Api
  readonly bookmarks = new Map<string, PlaintextBookmark>()
  userId = ''
  readonly #browser: Browser = openBrowser()
  #keys: Keys | undefined
  // Timestamps of the versions held, and which of them were made here.
  readonly #versions = new Map<string, { timestamp: number; isMine: boolean }>()
  #cursor = 0
  #clockOffset = 0

  constructor(id: string, baseUrl: URL) {
    this.id = id
    this.api = createApi(baseUrl, id, this.#browser)
  }

  async signIn(name: string): Promise<void> {
    this.userId = (await signIn(this.api, this.#browser, name)).userId
  }

  /** For a person's first device. The service keeps the keyring but can open neither it nor a record. */
  async makeKeyring(passphrase: string): Promise<{ recoveryCode: string }> {
    const { keyring, masterKey, recoveryCode } = await createKeyring({ userId: this.userId, passphrase })
    this.#keys = deriveKeys(masterKey)
    await this.api.call('setKeyring', { body: { keyring, revision: 1 } })
    await this.api.call('setExportKey', { body: { key: bytesToBase64(this.#keys.exportKey) } })
    return { recoveryCode }
  }

  /** For every further one. */
  async openKeyring(passphrase: string): Promise<void> {
    const { keyring } = await this.api.call('getKeyring')
    this.#keys = deriveKeys(await openKeyring(keyring, { userId: this.userId, passphrase }))
  }

  get keys(): Keys {
    if (!this.#keys) throw new Error(`${this.id} has no keys yet`)
    return this.#keys
  }

  /** This device's clock, set right by the server's: what an edit is stamped with (Unix ms). */
  now(): number {
    return Date.now() + this.#clockOffset
  }

  /** Makes an edit here and returns it for a later push. It beats the version that it was made from. */
  edit(bookmark: PlaintextBookmark): Schemas['Change'] {
    const timestamp = Math.max(this.now(), (this.#versions.get(bookmark.id)?.timestamp ?? 0) + 1)
    this.bookmarks.set(bookmark.id, bookmark)
    this.#versions.set(bookmark.id, { timestamp, isMine: true })
    return {
      id: uuidv7(),
      entity_type: 'bookmark',
      entity_id: bookmark.id,
      operation: 'update',
      timestamp,
      device_id: this.id,
      base: this.#cursor,
      ...encryptBookmark(this.keys, bookmark),
    }
  }

  async push(...changes: Schemas['Change'][]): Promise<Schemas['PushResponse']> {
    const response = await this.api.call('pushChanges', { body: { changes } })
    this.#clockOffset = response.timestamp - Date.now()
    return response
  }

  /** Pulls everything that is new, page by page, and takes it over. */
  async pull(limit = 1000): Promise<{ changes: number; pages: number; overwritten: Overwritten[] }> {
    const overwritten: Overwritten[] = []
    let changes = 0
    for (let pages = 1; ; pages++) {
      const page = await this.api.call('pullChanges', { body: { since: this.#cursor, limit } })
      for (const event of page.changes) overwritten.push(...this.#take(event))
      changes += page.changes.length
      this.#cursor = page.last_sync_timestamp
      if (!page.has_more) return { changes, pages, overwritten }
    }
  }

  openChannel(): Promise<Channel> {
    const { api, userId, id: deviceId } = this
    return openChannel(this.#browser, { baseUrl: api.baseUrl, userId, deviceId, since: this.#cursor })
  }

  /** Takes over what the channel brought. */
  receive({ event, stamp }: { event: Schemas['SyncEvent']; stamp: number }): void {
    this.#take(event)
    this.#cursor = stamp
  }

  #take(event: Schemas['SyncEvent']): Overwritten[] {
    const { entity_type, entity_id: id, operation, timestamp, device_id } = event
    const { encrypted_data = '', data_hash = '' } = event
    const mine = this.bookmarks.get(id)
    const isOverwritten = event.conflict_resolved && device_id !== this.id && this.#versions.get(id)?.isMine
    if (operation === 'delete') this.bookmarks.delete(id)
    else this.bookmarks.set(id, decryptBookmark(this.keys, { id, encrypted_data, data_hash }, entity_type))
    this.#versions.set(id, { timestamp, isMine: device_id === this.id })
    return mine && isOverwritten ? [{ mine, event }] : []
  }
}
