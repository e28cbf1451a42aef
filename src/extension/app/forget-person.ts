import { indexedDbStore } from '../../client/sync/store/indexed-db.ts'
import { groupsKey } from '../groups/tab-groups.ts'
import { indexedDbAgreedStore } from '../index.ts'
import { indexedDbVisitStore } from '../visits/visit-store.ts'
import { platform } from './platform.ts'
import { changeSettings, groupsPermissions, sentData } from './settings.ts'

/**
 * The sync's store of a person. At a sign-out, the sync empties it once nothing unsent stands against it, before it deletes
 * the key and reaches the server. All else of the person goes first: if that fails, they are still signed in and can try again.
 */
export function personStore(userId: string): ReturnType<typeof indexedDbStore> {
  const store = indexedDbStore(userId)
  const wipe = async () => {
    await forgetPerson(userId)
    await store.wipe()
  }
  return { ...store, wipe }
}

/** Edits that a person has not sent. They may be there without a key, if the browser has lost it. */
export async function countUnsent(userId: string): Promise<number> {
  const store = indexedDbStore(userId)
  try {
    return (await store.load()).rows.filter(({ waiting }) => waiting.length > 0).length
  } finally {
    store.close()
  }
}

/**
 * Deletes what this browser keeps of a person beside the sync's store, and their choices. Server, device and person stay
 * in the settings. If a part fails, the others go all the same.
 */
async function forgetPerson(userId: string): Promise<void> {
  const parts = [
    changeSettings({ visits: false, fillsTitles: false, signedOutAt: Date.now() }),
    platform.storage.local.remove(groupsKey),
    returnPersonsPermissions().catch(() => {}),
    indexedDbVisitStore(userId).wipe(),
    indexedDbAgreedStore(userId).wipe(),
  ]
  await Promise.allSettled(parts)
  await Promise.all(parts)
}

/** Returns the permissions for the history and tab groups: the next person decides for themselves. */
export async function returnPersonsPermissions(): Promise<void> {
  await platform.permissions.remove({ permissions: ['history', ...groupsPermissions().permissions], ...sentData() })
}
