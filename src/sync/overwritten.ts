import { SyncEvent } from '../../generated/limits.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { StoredVersion } from '../db/rows.ts'

type Overwritten = NonNullable<Schemas['SyncEvent']['overwritten']>

const { maxItems } = SyncEvent.overwritten

/**
 * The versions of a record that were replaced unseen: the last of each device, newest last. Later versions keep them: a
 * device may receive only a later one, and must still learn that its own was lost.
 */
export function overwrittenBy(stored: StoredVersion | undefined, unseen: boolean): string | null {
  if (!stored) return null
  if (!unseen) return stored.overwritten
  const lost = { device_id: stored.device_id, timestamp: stored.timestamp }
  const others = readOverwritten(stored.overwritten).filter(({ device_id }) => device_id !== lost.device_id)
  return JSON.stringify([...others, lost].slice(-maxItems))
}

export function readOverwritten(json: string | null): Overwritten {
  return json === null ? [] : (JSON.parse(json) as Overwritten)
}
