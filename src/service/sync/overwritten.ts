import { addOverwritten, type Overwritten } from '../../protocol/overwritten.ts'
import type { Stored } from '../db/tables/records.ts'

/** Later versions keep what was overwritten: a device may receive only a later one, and must still learn of its loss. */
export function overwrittenBy(stored: Stored | undefined, unseen: boolean): string | null {
  if (!stored) return null
  if (!unseen) return stored.overwritten
  return JSON.stringify(addOverwritten(readOverwritten(stored.overwritten), stored))
}

export function readOverwritten(json: string | null): Overwritten {
  return json === null ? [] : (JSON.parse(json) as Overwritten)
}
