import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import type { Client } from '../../../src/client/api.ts'
import { base64ToBytes } from '../../../src/client/base64.ts'
import type { Keys } from '../../../src/client/keys.ts'
import { clientTransport, type SyncEvent, type Transport } from '../../../src/client/sync/exchange/transport.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import type { Tabs } from '../../../src/client/sync/store/tabs.ts'
import { createSyncOver } from '../../../src/client/sync.ts'

/** Figures of a device's first sync; times in ms. */
export interface FirstSync {
  bookmarks: number
  /** Of ciphertext. */
  bytes: number
  total: number
  /** From a pull's request to its parsed answer. */
  network: number
  /** From there to checked bookmarks, including the pauses that let the page respond. */
  decrypt: number
  /** Reading and writing the device's store. */
  store: number
  /** The library's XChaCha20-Poly1305 on the same bytes, alternately before and after a page; not part of the total. */
  cipher: number
}

/** Pulls everything into an empty store, in Node and in browsers. */
export async function firstSync(
  client: Client,
  { keys, userId, store }: { keys: Keys; userId: string; store: Store },
): Promise<FirstSync> {
  const times = { bytes: 0, network: 0, decrypt: 0, store: 0, cipher: 0 }
  const transport = clientTransport(client)
  let page: SyncEvent[] = []
  let pages = 0
  let pulledAt: number | undefined
  const openPageAlone = () => {
    const { bytes, ms } = openAlone(keys, page)
    times.bytes += bytes
    times.cipher += ms
  }
  const timed = async <T>(part: 'network' | 'store', work: () => Promise<T>): Promise<T> => {
    const start = performance.now()
    const result = await work()
    times[part] += performance.now() - start
    return result
  }

  const watchedTransport: Transport = {
    ...transport,
    async pull(body, options) {
      const answer = await timed('network', () => transport.pull(body, options))
      page = answer.changes
      pages++
      if (pages % 2 === 1) openPageAlone()
      pulledAt = performance.now()
      return answer
    },
  }
  const watchedStore: Store = {
    ...store,
    shared: false,
    read: (ids) => timed('store', () => store.read(ids)),
    async write(rows, meta) {
      await timed('store', () => store.write(rows, meta))
      if (pages % 2 === 0 && page.length > 0) openPageAlone()
      page = []
    },
  }
  /** No other tab uses the store. The engine asks for it when a page is decrypted. */
  const tabs: Tabs = {
    exclusively(name, task) {
      if (name === 'store' && pulledAt !== undefined) times.decrypt += performance.now() - pulledAt
      if (name === 'store') pulledAt = undefined
      return task()
    },
    post() {},
    listen() {},
    close() {},
  }

  const sync = createSyncOver(watchedTransport, { keys, userId, deviceId: 'second', store: watchedStore, tabs })
  const start = performance.now()
  await sync.syncNow()
  const total = performance.now() - start - times.cipher
  const bookmarks = sync.bookmarks().size
  await sync.stop()
  return { bookmarks, total, ...times }
}

/** How long the cipher alone takes for these events. Its input is prepared before. */
function openAlone({ recordKey }: Keys, events: readonly SyncEvent[]): { bytes: number; ms: number } {
  const sealed = events.map(({ entity_type, entity_id, encrypted_data = '' }) => {
    const bytes = base64ToBytes(encrypted_data) as Uint8Array
    const associatedData = new TextEncoder().encode(`ebs/1\0${entity_type}\0${entity_id}`)
    return { nonce: bytes.slice(1, 25), associatedData, ciphertext: bytes.slice(25) }
  })
  const start = performance.now()
  for (const { nonce, associatedData, ciphertext } of sealed) {
    xchacha20poly1305(recordKey, nonce, associatedData).decrypt(ciphertext)
  }
  const ms = performance.now() - start
  return { bytes: sealed.reduce((sum, { ciphertext }) => sum + ciphertext.length, 0), ms }
}
