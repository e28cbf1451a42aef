import type { PlaintextBookmark } from '../../bookmark.ts'
import { nameOf, type RecordName } from '../store/key.ts'
import type { Replica } from '../store/replica.ts'
import type { Refusal } from '../store/store.ts'

/** An edit that the service refused, or that a proxy or firewall blocked. */
export interface Quarantined extends Refusal, RecordName {
  /** The bookmark with the edit, or null if that is a delete. */
  bookmark: PlaintextBookmark | null
}

export function listRefused({ quarantined, rows }: Replica): Quarantined[] {
  return [...quarantined].flatMap((key) => {
    const last = rows.get(key)?.waiting.at(-1)
    return last?.refusal ? { ...nameOf(key), bookmark: last.bookmark, ...last.refusal } : []
  })
}
