import { forgetMasterKey } from '../../client/index.ts'

/** Other tabs of this browser hear of what is stored under it. */
const key = 'locked-at'

/** Forgets the keys in this browser, in all tabs; the passphrase opens the bookmarks again. Unsent edits are kept. */
export async function lock(userId: string): Promise<void> {
  await forgetMasterKey(userId)
  localStorage.setItem(key, String(Date.now()))
  location.reload()
}

/** A reload forgets what is in memory. */
export function lockWithOtherTabs(): void {
  addEventListener('storage', (event) => {
    if (event.key === key) location.reload()
  })
}
