import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import type { Client } from '../src/client/api/client.ts'
import { unwrap } from '../src/client/api/unwrap.ts'
import type { PlaintextBookmark } from '../src/client/bookmark.ts'
import { base64ToBytes } from '../src/client/crypto/base64.ts'
import type { Keys } from '../src/client/crypto/keys.ts'
import { encryptBookmark } from '../src/client/crypto/record.ts'
import type { SyncEvent } from '../src/client/sync/exchange/transport.ts'
import type { Store } from '../src/client/sync/store/store.ts'
import { createSync } from '../src/client/sync/sync.ts'

/** A device's first sync, and what it cannot do without; times in ms. */
export interface FirstSync extends Alone {
  bookmarks: number
  total: number
}

/** Pulls everything into an empty store, in Node and in browsers; the parts are measured before and after it. */
export async function firstSync(
  client: Client,
  { keys, userId, store }: { keys: Keys; userId: string; store: Store },
): Promise<FirstSync> {
  const before = await pullAlone(client, keys)
  const sync = createSync({ client, keys, userId, deviceId: 'second', store })
  const start = performance.now()
  await sync.syncNow()
  const total = performance.now() - start
  const bookmarks = sync.bookmarks().size
  await sync.stop()
  const after = await pullAlone(client, keys)
  const [network, cipher] = [(before.network + after.network) / 2, (before.cipher + after.cipher) / 2]
  return { bookmarks, total, network, cipher }
}

/** Times of the parts without which no sync can do, each measured by itself, in ms. */
export interface Alone {
  /** All pages, one after the other, from each request to its parsed answer. */
  network: number
  /** The library's XChaCha20-Poly1305 on the same bytes. */
  cipher: number
}

/** Pulls everything, then deciphers it. */
export async function pullAlone(client: Client, keys: Keys): Promise<Alone> {
  const start = performance.now()
  const events: SyncEvent[] = []
  for (let [since, hasMore] = [0, true]; hasMore; ) {
    const page = unwrap(await client.POST('/api/v1/sync/pull', { body: { since } }))
    events.push(...page.changes)
    since = page.last_sync_timestamp
    hasMore = page.has_more
  }
  const network = performance.now() - start
  return { network, cipher: timeCipher(keys, events, 'decrypt') }
}

/** Enciphers what the records of these bookmarks contain. */
export function sealAlone(keys: Keys, bookmarks: readonly PlaintextBookmark[]): Alone {
  const records = bookmarks.map((bookmark) => {
    return { entity_type: 'bookmark' as const, entity_id: bookmark.id, ...encryptBookmark(keys, bookmark) }
  })
  return { network: 0, cipher: timeCipher(keys, records, 'encrypt') }
}

/** Its input is prepared before. */
function timeCipher(
  { recordKey }: Keys,
  records: readonly Pick<SyncEvent, 'entity_type' | 'entity_id' | 'encrypted_data'>[],
  how: 'encrypt' | 'decrypt',
): number {
  const inputs = records.map(({ entity_type, entity_id, encrypted_data = '' }) => {
    const bytes = base64ToBytes(encrypted_data) as Uint8Array
    const associatedData = new TextEncoder().encode(`ebs/1\0${entity_type}\0${entity_id}`)
    const end = how === 'encrypt' ? -16 : bytes.length
    return { nonce: bytes.slice(1, 25), associatedData, text: bytes.slice(25, end) }
  })
  const start = performance.now()
  for (const { nonce, associatedData, text } of inputs) xchacha20poly1305(recordKey, nonce, associatedData)[how](text)
  return performance.now() - start
}

/** Bookmarks of a realistic length, in folders of fifty. */
export function makeBookmarks(count: number): PlaintextBookmark[] {
  const folders = Array.from({ length: count / 50 }, () => crypto.randomUUID())
  return Array.from({ length: count }, (_, index) => {
    const id = folders[index / 50] ?? crypto.randomUUID()
    const dateAdded = new Date(1_600_000_000_000 + index * 3_600_000).toISOString()
    const common = { id, source: 'bookmarks' as const, dateAdded, position: `a${index}` }
    if (folders[index / 50]) return { ...common, title: `Folder ${index / 50}` }
    const path = `articles/${index}/how-to-keep-bookmarks-in-step`.slice(0, 20 + (index % 30))
    return {
      ...common,
      title: `How to keep bookmarks in step, part ${index}`,
      url: `https://www.example.org/${path}`,
      parentId: folders[Math.floor(index / 50)] as string,
    }
  })
}
