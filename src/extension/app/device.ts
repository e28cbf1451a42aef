import {
  ApiError,
  deriveKeys,
  indexedDbStore,
  loadMasterKey,
  OfflineError,
  SignedOutError,
  type Sync,
} from '../../client/index.ts'
import { createSync } from '../../client/worker.ts'
import {
  type BookmarkWatch,
  type BrowserSync,
  createBrowserSync,
  indexedDbAgreedStore,
  shareSessionWithSockets,
  wakefulSocket,
} from '../index.ts'
import { platform } from './platform.ts'
import { openClient, type Settings } from './settings.ts'

/** This browser as one of the user's devices. */
export interface Device {
  userId: string
  sync: Sync
  browserSync: BrowserSync
}

/** Undefined if the user must choose a server, sign in or type the passphrase first. */
export async function openDevice(settings: Settings, watch: BookmarkWatch): Promise<Device | undefined> {
  const { baseUrl, deviceId, userId } = settings
  if (!baseUrl || !deviceId || !userId) return undefined
  const masterKey = await loadMasterKey(userId)
  if (!masterKey) return undefined
  const client = openClient(settings)
  const keys = deriveKeys(masterKey)
  const webSocket = wakefulSocket(platform.runtime)
  const sync = createSync({ client, keys, userId, deviceId, store: indexedDbStore(userId), webSocket })
  const store = indexedDbAgreedStore(userId)
  const { bookmarks, storage } = platform
  return { userId, sync, browserSync: createBrowserSync({ sync, bookmarks, watch, store, session: storage.session }) }
}

/** Begins with what an earlier worker has left behind. */
export async function startDevice({ sync, browserSync }: Device, { baseUrl = '' }: Settings): Promise<void> {
  await browserSync.start()
  await shareSessionWithSockets(platform.cookies, baseUrl).catch(() => {})
  await sync.start()
}

/**
 * Deletes everything of this user from the extension. The browser's bookmarks stay.
 *
 * @returns whether the session was ended, too: without a network it is not
 * @throws UnsentChangesError nothing was deleted, and the device has only stopped
 */
export async function forgetDevice({ userId, sync, browserSync }: Device, discardUnsent: boolean): Promise<boolean> {
  // Before the sync is emptied, which would look as if all had been deleted.
  await browserSync.stop()
  let isEnded = true
  try {
    await sync.signOut({ discardUnsent })
  } catch (error) {
    await sync.stop()
    isEnded = error instanceof SignedOutError
    if (!(isEnded || error instanceof OfflineError || error instanceof ApiError)) throw error
  }
  await indexedDbAgreedStore(userId).wipe()
  return isEnded
}
