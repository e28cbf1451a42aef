import { ApiError } from '../../errors.ts'
import type { Connected } from '../engine.ts'
import type { Draft } from '../store/replica.ts'

/** Marks edits as reported: once this is stored, their user knows what was lost. */
export function markReported(draft: Draft, eventIds: readonly string[]): void {
  if (eventIds.length > 0) draft.setMeta({ told: [...(draft.meta.told ?? []), ...eventIds] })
}

/**
 * Settles conflicts that this device has reported to its user. Nothing else settles them. Failures are left to the next
 * exchange.
 */
export async function settleReported({ transport, replica, signal }: Connected): Promise<void> {
  const settled = new Set<string>()
  for (const id of replica.meta.told ?? []) {
    const failure: unknown = await transport.settleConflict(id, { signal }).catch((error: unknown) => error)
    signal.throwIfAborted()
    // 404: the conflict is already settled, or the service kept no version.
    if (failure !== undefined && !(failure instanceof ApiError && failure.status === 404)) break
    settled.add(id)
  }
  if (settled.size === 0) return
  await replica.commit([], 'remote', (draft) => {
    draft.setMeta({ told: (draft.meta.told ?? []).filter((id) => !settled.has(id)) })
  })
}
