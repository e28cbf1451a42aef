import type { PlaintextBookmark } from '../../bookmark.ts'
import type { Replica } from '../store/replica.ts'
import type { Refusal } from '../store/store.ts'

/** An edit that the service refused. */
export interface Quarantined extends Refusal {
  id: string
  /** The bookmark as it was put here, or null if it was deleted here. */
  bookmark: PlaintextBookmark | null
}

export function listRefused({ quarantined, rows }: Replica): Quarantined[] {
  return [...quarantined].flatMap((id) => {
    const last = rows.get(id)?.waiting.at(-1)
    return last?.refusal ? { id, bookmark: last.bookmark, ...last.refusal } : []
  })
}
