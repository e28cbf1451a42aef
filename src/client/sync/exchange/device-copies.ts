import { compareVersions } from '../../../protocol/order.ts'
import { editOf } from '../../../protocol/re-encrypted.ts'
import { uuidv7 } from '../../ids.ts'
import { newestOf, ownIds } from '../store/row.ts'
import type { Meta, Row, Version } from '../store/store.ts'

/** This store's current device id, given that or an earlier one. */
export function presentId({ deviceIds }: Readonly<Meta>, id: string): string {
  return deviceIds?.[id] ?? id
}

/**
 * True for an edit under this store's device id that the store does not know: a copy of the store or profile made it, or
 * this store before it was reset to an older state. Versions that the service writes itself, such as restores, do not
 * count; their event ids do not begin with `e`.
 */
export function isMadeByCopy(row: Row, version: Version, present: string): boolean {
  const { event_id, device_id } = version
  if (device_id !== present || !event_id.startsWith('e')) return false
  const newest = newestOf(row)
  if (newest && compareVersions(version, newest) < 0) return false
  const known = [newest, row.version, row.unreadable, ...row.waiting.map(({ change }) => ({ event_id: change.id }))]
  return known.every((one) => !one || editOf(one.event_id) !== editOf(event_id))
}

/** The meta's `deviceIds` with a new id, which is random, so that two copies which notice each other take different ones. */
export function withNewId(meta: Readonly<Meta>, present: string): Pick<Meta, 'deviceIds'> {
  const name = present.replace(/-?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '').slice(0, longestName)
  const taken = [...(name ? [name] : []), uuidv7()].join('-')
  return { deviceIds: Object.fromEntries([...ownIds(meta, present)].map((id) => [id, taken])) }
}

/** The most characters of the name in a device id: with a hyphen and a UUID (36), an id has at most 128. */
const longestName = 91
