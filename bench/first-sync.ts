import type { Client } from '../src/client/api/client.ts'
import type { Keys } from '../src/client/crypto/keys.ts'
import type { Store } from '../src/client/sync/store/store.ts'
import { createSync } from '../src/client/sync/sync.ts'
import { type Alone, pullAlone } from './alone.ts'

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
