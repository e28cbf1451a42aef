import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Replica } from '../store/replica.ts'
import { viewOf } from '../store/row.ts'

/** The bookmarks that the held deletes would remove, those first that were deleted first. */
export function listHeld(replica: Replica): PlaintextBookmark[] {
  const { rows, meta } = replica
  return meta.guarding ? heldInOrder(replica).flatMap((id) => viewOf(rows.get(id)).bookmark ?? []) : []
}

export function heldInOrder({ held, rows }: Replica): string[] {
  const base = (id: string) => rows.get(id)?.held?.base ?? 0
  return [...held].sort((one, other) => base(one) - base(other))
}
