import { xchacha20poly1305 } from '@noble/ciphers/chacha.js'
import type { Client } from '../src/client/api/client.ts'
import { unwrap } from '../src/client/api/unwrap.ts'
import type { PlaintextBookmark } from '../src/client/bookmark.ts'
import { base64ToBytes } from '../src/client/crypto/base64.ts'
import type { Keys } from '../src/client/crypto/keys.ts'
import { encryptBookmark } from '../src/client/crypto/record.ts'
import type { SyncEvent } from '../src/client/sync/exchange/transport.ts'

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
