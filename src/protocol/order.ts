import type { components } from '../../generated/openapi.ts'

/** Decides which version of an entity wins. A delete has neither data nor hash. */
export interface Version {
  timestamp: number
  device_id: string
  operation: components['schemas']['Operation']
  event_id: string
  data_hash: string | null
  /** Left out where no ciphertext is kept, as in the client. */
  encrypted_data?: string | null
}

const ranks = { create: 0, update: 1, delete: 2 } as const

/**
 * A total order, so that the winner does not depend on the order of arrival: greater time, then device, then operation,
 * then event id, hash and data. All strings are ASCII, so that code units compare as bytes do on every database.
 */
export function compareVersions(a: Version, b: Version): number {
  return compareWithoutData(a, b) || compare(a.encrypted_data ?? '', b.encrypted_data ?? '')
}

/** True if it is the same event again. Ciphertexts are not compared, because each encryption gives a different one. */
export function isRetry(a: Version, b: Version): boolean {
  return compareWithoutData(a, b) === 0
}

/** True if both leave the entity in the same state, so that neither device loses anything. */
export function isSameContent(a: Content, b: Content): boolean {
  return (a.operation === 'delete') === (b.operation === 'delete') && hashOf(a) === hashOf(b)
}

/**
 * True if both say the same about the entity: the same content through the same operation. The service accepts such a
 * loser. It rejects a loser with the same content through another operation, and that device then sees that it lost
 * nothing.
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

/** True if a time is more than 24 h ahead of the service's, and would win for too long. Both in Unix ms. */
export function isFarAhead(timestamp: number, serverTime: number): boolean {
  return timestamp > serverTime + dayMs
}
