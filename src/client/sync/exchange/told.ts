import { ApiError } from '../../errors.ts'
import type { Connected } from '../engine.ts'
import type { Draft } from '../store/replica.ts'

/** Once this is stored, the user is told of what these edits have lost, or nothing of them is lost. */
export function markTold(draft: Draft, eventIds: readonly string[]): void {
  if (eventIds.length > 0) draft.setMeta({ told: [...(draft.meta.told ?? []), ...eventIds] })
}

/**
 * Settles the conflicts of which this device has told its user: only that device knows it, so nothing else settles them.
 * What fails is left to the next exchange.
 */
export async function settleTold({ transport, replica, signal }: Connected): Promise<void> {
  const settled = new Set<string>()
  for (const id of replica.meta.told ?? []) {
    const failure: unknown = await transport.settleConflict(id, { signal }).catch((error: unknown) => error)
    signal.throwIfAborted()
    // Somebody has settled it, or nothing was kept of it.
    if (failure !== undefined && !(failure instanceof ApiError && failure.status === 404)) break
    settled.add(id)
  }
  if (settled.size === 0) return
  await replica.commit([], 'remote', (draft) => {
    draft.setMeta({ told: (draft.meta.told ?? []).filter((id) => !settled.has(id)) })
  })
}
