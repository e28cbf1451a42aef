import { ApiError } from '../../errors.ts'
import type { Connected } from '../engine.ts'
import type { Draft } from '../store/replica.ts'

/** Notes edits that lost, once their conflicts are listed here. `settleReported` then settles these at the service. */
export function markReported(draft: Draft, eventIds: readonly string[]): void {
  if (eventIds.length > 0) draft.setMeta({ told: [...(draft.meta.told ?? []), ...eventIds] })
}

/**
 * Settles the conflicts that this device has reported to its user, which the service would otherwise list on all devices.
 * After a failure, the next exchange tries again.
 */
export async function settleReported({ transport, replica, signal }: Connected): Promise<void> {
  const settled = new Set<string>()
  for (const id of replica.meta.told ?? []) {
    const failure: unknown = await transport.settleConflict(id, { signal }).catch((error: unknown) => error)
    signal.throwIfAborted()
    // 404: the conflict is settled already, or the service has not kept the version.
    if (failure !== undefined && !(failure instanceof ApiError && failure.status === 404)) break
    settled.add(id)
  }
  if (settled.size === 0) return
  await replica.commit([], 'remote', (draft) => {
    draft.setMeta({ told: (draft.meta.told ?? []).filter((id) => !settled.has(id)) })
  })
}
