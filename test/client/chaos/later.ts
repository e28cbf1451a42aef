import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'
import type { SyncEvents } from '../../../src/client/sync/store/emitter.ts'
import type { Sync } from '../../../src/client/sync.ts'

/** What the client can do: the events that need the rest do not happen. */
export const can = { merge: false, quarantine: true, outliveRestores: false }

/** The methods that come with them. */
interface LaterSync {
  update(id: string, update: (current: PlaintextBookmark) => Partial<PlaintextBookmark> | null): Promise<void>
  conflicts(): (SyncEvents['conflict'] & { fields: string[] })[]
  resolve(id: string, choice: 'mine' | 'theirs'): Promise<void>
  quarantined(): { id: string }[]
  retryQuarantined(): Promise<void>
  dropQuarantined(ids: readonly string[]): Promise<void>
}

export function later(sync: Sync): LaterSync {
  return sync as unknown as LaterSync
}

/** The user approves the deletes that they are shown. */
export function approveShown(sync: Sync): Promise<void> {
  const approve: (shown: number) => Promise<void> = sync.approveDeletions
  return approve(sync.status().heldDeletions?.count ?? 0)
}
