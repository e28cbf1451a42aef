import type { Schemas } from '../contract/schemas.ts'

/** What decides who wins. A delete has neither data nor hash. */
export interface Version {
  timestamp: number
  device_id: string
  operation: Schemas['Operation']
  event_id: string
  data_hash: string | null
  encrypted_data: string | null
}

const ranks = { create: 0, update: 1, delete: 2 } as const

/**
 * A total order, so that the winner does not depend on the order of arrival: greater time, then device, then operation,
 * then event id, hash and data. All strings are ASCII, so that code units compare as bytes do on every database.
 */
export function compareVersions(a: Version, b: Version): number {
  return (
    a.timestamp - b.timestamp ||
    compare(a.device_id, b.device_id) ||
    ranks[a.operation] - ranks[b.operation] ||
    compare(a.event_id, b.event_id) ||
    compare(hashOf(a), hashOf(b)) ||
    compare(a.encrypted_data ?? '', b.encrypted_data ?? '')
  )
}

/** The same event again: nothing is to be written. */
export function isRetry(a: Version, b: Version): boolean {
  return (
    a.event_id === b.event_id &&
    a.timestamp === b.timestamp &&
    a.device_id === b.device_id &&
    a.operation === b.operation &&
    hashOf(a) === hashOf(b)
  )
}

/** Whether two versions leave the entity alike, so that neither loses anything. */
export function isSameContent(a: Version, b: Version): boolean {
  const deletes = [a, b].filter((version) => version.operation === 'delete').length
  if (deletes > 0) return deletes === 2
  return a.operation === b.operation && a.data_hash === b.data_hash
}

function hashOf(version: Version): string {
  return version.operation === 'delete' ? '' : (version.data_hash ?? '')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
