import { compareVersions } from '../../../protocol/order.ts'
import { editOf } from '../../../protocol/re-encrypted.ts'
import { uuidv7 } from '../../ids.ts'
import { newestOf, ownIds } from '../store/row.ts'
import type { Meta, Row, Version } from '../store/store.ts'

/** The id under which a store makes edits, given one that it has had or has. */
export function presentId({ deviceIds }: Readonly<Meta>, id: string): string {
  return deviceIds?.[id] ?? id
}

/**
 * True of an edit under this store's present id that it has never made, so that another one has: a copy of it or of its browser's
 * profile, or what it was before it was put back to an older state. What the service writes itself under the id, such as the restore
 * of a version, is none.
 */
export function isOfSecondLife(row: Row, version: Version, present: string): boolean {
  const { event_id, device_id } = version
  if (device_id !== present || !event_id.startsWith('e')) return false
  const newest = newestOf(row)
  if (newest && compareVersions(version, newest) < 0) return false
  const known = [newest, row.version, row.unreadable, ...row.waiting.map(({ change }) => ({ event_id: change.id }))]
  return known.every((one) => !one || editOf(one.event_id) !== editOf(event_id))
}

/**
 * A new id instead, for what this store makes from now on. Of two copies that notice at once each takes another one, and neither
 * sees anything more under its own.
 */
export function withNewId(meta: Readonly<Meta>, present: string): Pick<Meta, 'deviceIds'> {
  const name = present.replace(/-?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, '').slice(0, longestName)
  const taken = [...(name ? [name] : []), uuidv7()].join('-')
  return { deviceIds: Object.fromEntries([...ownIds(meta, present)].map((id) => [id, taken])) }
}

/** A hyphen and a UUID make it as long as the service lets an id be. */
const longestName = 91
