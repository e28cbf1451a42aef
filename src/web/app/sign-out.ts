import { type Client, createSync, deriveKeys, type Sync, UnsentChangesError } from '../../client/index.ts'
import { confirmFirst } from '../ui/confirm.tsx'
import type { Device } from './device.ts'
import { leave } from './signed-out.ts'

/** Signs out in this tab; asks first if edits would be lost. */
export async function signOut(sync: Sync): Promise<void> {
  try {
    await leave(sync)
  } catch (error) {
    if (!(error instanceof UnsentChangesError)) throw error
    confirmFirst({
      title: 'Sign out and lose edits?',
      text: `${error.count === 1 ? 'One edit has' : `${error.count} edits have`} not been sent yet. Signing out deletes everything from this browser.`,
      action: 'Sign out and lose them',
      run: () => leave(sync, { discardUnsent: true }),
    })
  }
}

/** The same while the vault is locked: the bookmarks that this browser keeps are deleted, too. */
export async function signOutLocked(client: Client, device: Device, userId: string): Promise<void> {
  await signOut(lockedSync(client, device, userId))
}

/** A sync that is never started. It only counts and deletes what is stored, so any keys do. */
export function lockedSync(client: Client, device: Device, userId: string): Sync {
  const keys = deriveKeys(new Uint8Array(32))
  return createSync({ client, keys, userId, deviceId: device.id, ...device.open(userId) })
}
