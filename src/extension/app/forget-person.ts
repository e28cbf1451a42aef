import { indexedDbAgreedStore } from '../index.ts'
import { indexedDbVisitStore } from '../visits/visit-store.ts'
import { platform } from './platform.ts'
import { changeSettings, groupsPermissions } from './settings.ts'

/**
 * Deletes what this browser keeps of a person beside the sync's store, and their choices: the next person decides for
 * themselves. Server, device and person stay in the settings. If a part fails, the others go all the same.
 */
export async function forgetPerson(userId: string): Promise<void> {
  const { permissions } = groupsPermissions()
  const parts = [
    changeSettings({ visits: false, fillsTitles: false }),
    platform.storage.local.remove('groups'),
    platform.permissions.remove({ permissions: ['history', ...permissions] }).catch(() => {}),
    indexedDbVisitStore(userId).wipe(),
    indexedDbAgreedStore(userId).wipe(),
  ]
  await Promise.allSettled(parts)
  await Promise.all(parts)
}
