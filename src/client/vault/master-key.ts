import { Database, endOf, resultOf } from '../database.ts'
import { requireFeature } from '../feature.ts'

const storeName = 'master-keys'

/** A stored master key: AES-GCM under a key that the browser can use but not export. */
interface Kept {
  wrappingKey: CryptoKey
  iv: Uint8Array<ArrayBuffer>
  wrapped: ArrayBuffer
}

/**
 * Stores a master key in this browser (IndexedDB), so that the user enters the passphrase only once per device. The key
 * is wrapped by a WebCrypto key that cannot be exported. Code in the page's origin can use that key all the same, and
 * the browser stores it in the files of the profile: a program that can read these files has the master key.
 *
 * @param masterKey a vault's `masterKey`: 32 bytes, and 32 more for each rotation
 * @throws StoreBlockedError the browser does not open the database; UnsupportedError it lacks IndexedDB or WebCrypto
 */
export async function keepMasterKey(userId: string, masterKey: Uint8Array): Promise<void> {
  const subtle = requireFeature(globalThis.crypto?.subtle, 'WebCrypto')
  const wrappingKey = await subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
  const iv = crypto.getRandomValues(new Uint8Array(12))
  const wrapped = await subtle.encrypt(algorithm(iv, userId), wrappingKey, new Uint8Array(masterKey))
  await inStore('readwrite', (store) => store.put({ wrappingKey, iv, wrapped } satisfies Kept, userId))
}

/**
 * The master key that this browser stores for a user; undefined if there is none or it cannot be decrypted.
 *
 * @throws StoreBlockedError the browser does not open the database; UnsupportedError it lacks IndexedDB
 */
export async function loadMasterKey(userId: string): Promise<Uint8Array | undefined> {
  const kept: Kept | undefined = await inStore('readonly', (store) => store.get(userId))
  if (!kept) return undefined
  try {
    return new Uint8Array(await crypto.subtle.decrypt(algorithm(kept.iv, userId), kept.wrappingKey, kept.wrapped))
  } catch {
    return undefined
  }
}

/** Deletes a user's master key, at sign-out. */
export async function forgetMasterKey(userId: string): Promise<void> {
  await inStore('readwrite', (store) => store.delete(userId))
}

function algorithm(iv: Uint8Array<ArrayBuffer>, userId: string): AesGcmParams {
  return { name: 'AES-GCM', iv, additionalData: new TextEncoder().encode(userId) }
}

async function inStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  requireFeature(globalThis.indexedDB, 'IndexedDB')
  const database = new Database('encrypted-bookmark-sync-keys', {
    async upgrade(created) {
      created.createObjectStore(storeName)
    },
  })
  try {
    return await database.use(async (connection) => {
      const transaction = connection.transaction(storeName, mode)
      const [result] = await Promise.all([resultOf(work(transaction.objectStore(storeName))), endOf(transaction)])
      return result
    })
  } finally {
    database.close()
  }
}
