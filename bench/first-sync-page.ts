/** What the bench runs in a page of the service: a device that keeps its bookmarks in IndexedDB. */
import { createClient } from '../src/client/api/client.ts'
import { deriveKeys } from '../src/client/crypto/keys.ts'
import { indexedDbStore } from '../src/client/sync/store/indexed-db.ts'
import { firstSync } from './first-sync.ts'

Object.assign(globalThis, {
  firstSync: ({ masterKey, userId }: { masterKey: number[]; userId: string }) =>
    firstSync(createClient({ baseUrl: location.origin, deviceId: 'second' }), {
      keys: deriveKeys(Uint8Array.from(masterKey)),
      userId,
      store: indexedDbStore(userId),
    }),
})
