import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Replica } from '../store/replica.ts'
import { viewOf } from '../store/row.ts'

/** The bookmarks that the held deletes would remove, those first whose deletes came first. */
export function listHeld({ meta, held, rows }: Replica): PlaintextBookmark[] {
  const base = (id: string) => rows.get(id)?.held?.base ?? 0
  const inOrder = meta.guarding ? [...held].sort((one, other) => base(one) - base(other)) : []
  return inOrder.flatMap((id) => viewOf(rows.get(id)).bookmark ?? [])
}
