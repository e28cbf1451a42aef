import type { components } from '../../generated/openapi.ts'

/** The fields of a version that decide whether it wins. The hash of a delete does not count. */
export interface Version {
  timestamp: number
  device_id: string
  operation: components['schemas']['Operation']
  event_id: string
  data_hash: string | null
  /** Absent in the client, which does not keep ciphertexts. */
  encrypted_data?: string | null
}

const ranks = { create: 0, update: 1, delete: 2 } as const

/**
 * A total order, so that the winner does not depend on the order of arrival: by timestamp, then device, then operation, then
 * event id, hash and data. All strings are ASCII, so that comparing code units is the same as comparing bytes in a database.
 */
export function compareVersions(a: Version, b: Version): number {
  return compareWithoutData(a, b) || compare(a.encrypted_data ?? '', b.encrypted_data ?? '')
}

/** True if both are the same event. Ciphertexts are not compared, because each encryption gives a different one. */
export function isRetry(a: Version, b: Version): boolean {
  return compareWithoutData(a, b) === 0
}

/** True if both leave the entity in the same state, so that neither device loses anything. */
export function isSameContent(a: Content, b: Content): boolean {
  return (a.operation === 'delete') === (b.operation === 'delete') && hashOf(a) === hashOf(b)
}

/**
 * True if both lead to the same content by the same operation. The service accepts a change that loses to such a version.
 * If only the content is the same, it rejects the change, and the device then sees that it has lost nothing.
 */
export function isSameChange(a: Content, b: Content): boolean {
  return a.operation === b.operation && isSameContent(a, b)
}

type Content = Pick<Version, 'operation' | 'data_hash'>

function compareWithoutData(a: Version, b: Version): number {
  return (
    a.timestamp - b.timestamp ||
    compare(a.device_id, b.device_id) ||
    ranks[a.operation] - ranks[b.operation] ||
    compare(a.event_id, b.event_id) ||
    compare(hashOf(a), hashOf(b))
  )
}

function hashOf({ operation, data_hash }: Content): string {
  return operation === 'delete' ? '' : (data_hash ?? '')
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export const dayMs = 86_400_000

/** True if a timestamp is more than 24 h ahead of the service's clock, and would win for that long. Both in Unix ms. */
export function isFarAhead(timestamp: number, serverTime: number): boolean {
  return timestamp > serverTime + dayMs
}
