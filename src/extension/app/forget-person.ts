import { indexedDbStore } from '../../client/sync/store/indexed-db.ts'
import { groupsKey } from '../groups/tab-groups.ts'
import { indexedDbAgreedStore } from '../index.ts'
import { indexedDbVisitStore } from '../visits/visit-store.ts'
import { platform } from './platform.ts'
import { changeSettings, groupsPermissions, sentData } from './settings.ts'

/**
 * The sync's store of a person. At a sign-out, the sync calls `wipe` after its check for unsent edits, but before it deletes
 * the key and contacts the server. `forgetPerson` deletes the other data first: if that fails, they can try again.
 */
export function personStore(userId: string): ReturnType<typeof indexedDbStore> {
  const store = indexedDbStore(userId)
  const wipe = async () => {
    await forgetPerson(userId)
    await store.wipe()
  }
  return { ...store, wipe }
}

/** Returns the number of a person's records with unsent edits. Does not need their key, which the browser may have lost. */
export async function countUnsent(userId: string): Promise<number> {
  const store = indexedDbStore(userId)
  try {
    return (await store.load()).rows.filter(({ waiting }) => waiting.length > 0).length
  } finally {
    store.close()
  }
}

/**
 * Deletes what the extension has stored of a person, but not the sync's store, the master key (`sync.signOut` deletes it later),
 * session storage and other settings. Turns off what they have turned on. If a part fails, it does the others, and throws.
 */
async function forgetPerson(userId: string): Promise<void> {
  const parts = [
    changeSettings({ visits: false, fillsTitles: false, signedOutAt: Date.now() }),
    platform.storage.local.remove(groupsKey),
    removePersonsPermissions().catch(() => {}),
    indexedDbVisitStore(userId).wipe(),
    indexedDbAgreedStore(userId).wipe(),
  ]
  await Promise.allSettled(parts)
  await Promise.all(parts)
}

/** Removes the permissions for the history and tab groups, so that the next person decides for themselves. */
export async function removePersonsPermissions(): Promise<void> {
  await platform.permissions.remove({ permissions: ['history', ...groupsPermissions().permissions], ...sentData() })
}
