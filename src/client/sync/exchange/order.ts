import type { Version } from '../store/store.ts'

const ranks = { create: 0, update: 1, delete: 2 } as const

type Ordered = Pick<Version, 'timestamp' | 'device_id' | 'operation' | 'event_id' | 'data_hash'>

/**
 * The service's order of two versions of a bookmark; the greater wins: time, then device, then operation, then event,
 * then content. All strings are ASCII, so that code units compare as bytes do.
 */
export function compareVersions(a: Ordered, b: Ordered): number {
  return (
    a.timestamp - b.timestamp ||
    compare(a.device_id, b.device_id) ||
    ranks[a.operation] - ranks[b.operation] ||
    compare(a.event_id, b.event_id) ||
    compare(hashOf(a), hashOf(b))
  )
}

/** Whether both leave the bookmark alike, so that neither loses anything. */
export function isSameContent(a: Pick<Version, 'data_hash'>, b: Pick<Version, 'data_hash'>): boolean {
  return a.data_hash === b.data_hash
}

function hashOf({ operation, data_hash }: Ordered): string {
  return operation === 'delete' ? '' : (data_hash ?? '')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
