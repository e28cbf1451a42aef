import { SyncEvent } from '../../generated/limits.ts'
import type { components } from '../../generated/openapi.ts'

export type Overwritten = NonNullable<components['schemas']['SyncEvent']['overwritten']>

const { maxItems } = SyncEvent.overwritten

/** The versions of a record that were replaced unseen: the last of each device, newest last. */
export function addOverwritten(before: Overwritten, { device_id, timestamp }: Overwritten[number]): Overwritten {
  const others = before.filter((version) => version.device_id !== device_id)
  return [...others, { device_id, timestamp }].slice(-maxItems)
}
