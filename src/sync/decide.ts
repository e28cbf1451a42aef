import type { Schemas } from '../contract.ts'
import type { StoredVersion } from '../db/records.ts'
import { compareVersions, isRetry, isSameContent, type Version } from './order.ts'

/** A change and its place in the request. */
export interface Pushed {
  change: Schemas['Change']
  index: number
}

export interface Decision {
  winner: Schemas['Change']
  stored: StoredVersion | undefined
  /** Whether the winner replaces what is stored. */
  written: boolean
  resolution: 'device_id' | 'last_write_wins' | undefined
  /** Whether the winner replaces another device's version that it was made without, and leaves the entity otherwise. */
  unseen: boolean
  /** Why, by place in the request, for the changes that lost. */
  lost: Map<number, string>
  /** The device whose change lost last. */
  loser: string | undefined
}

/** Decides between the stored version of an entity and all changes of it in one push. */
export function decide(pushed: Pushed[], stored: StoredVersion | undefined): Decision {
  const greatest = pushed.reduce((best, other) =>
    compareVersions(toVersion(other.change), toVersion(best.change)) > 0 ? other : best,
  )
  const challenger = toVersion(greatest.change)
  const kept = stored && withoutData(stored)
  const written = !kept || (!isRetry(challenger, kept) && compareVersions(challenger, kept) > 0)
  const winner = written ? challenger : kept
  const losers = pushed.filter(({ change }) => {
    const version = toVersion(change)
    const alreadyKnown = version.event_id === kept?.event_id || version.event_id === winner.event_id
    const supersededByItsDevice = written && version.device_id === winner.device_id
    return !alreadyKnown && !isSameContent(version, winner) && !supersededByItsDevice
  })
  return {
    winner: greatest.change,
    stored,
    written,
    resolution: written ? resolve(greatest.change, pushed, stored) : undefined,
    unseen: written && kept !== undefined && !isSameContent(challenger, kept) && isUnseen(greatest.change, stored),
    lost: new Map(losers.map(({ change, index }) => [index, reason(change, winner)])),
    loser: losers.at(-1)?.change.device_id,
  }
}

function resolve(
  winner: Schemas['Change'],
  pushed: Pushed[],
  stored: StoredVersion | undefined,
): Decision['resolution'] {
  const beaten = [...pushed.map(({ change }) => change), ...(stored ? [stored] : [])]
  const tied = beaten.some((other) => other.timestamp === winner.timestamp && other.device_id !== winner.device_id)
  if (tied) return 'device_id'
  return isUnseen(winner, stored) ? 'last_write_wins' : undefined
}

/** A device stamps an edit above the version that it edits: equal timestamps are of two that did not know each other. */
function isUnseen(winner: Schemas['Change'], stored: StoredVersion | undefined): boolean {
  if (!stored || stored.device_id === winner.device_id) return false
  return stored.timestamp === winner.timestamp || (winner.base !== undefined && stored.stamp > winner.base)
}

function reason(loser: Schemas['Change'], winner: Version): string {
  const version = `the version of ${winner.timestamp} by ${winner.device_id}`
  if (loser.timestamp < winner.timestamp) return `Last write wins: ${version} is newer`
  if (loser.device_id !== winner.device_id) return `Equal timestamps, greater device_id wins: ${version} is kept`
  return `Equal timestamps and devices, the later operation and event wins: ${version} is kept`
}

function toVersion({ id, timestamp, device_id, operation, data_hash, encrypted_data }: Schemas['Change']): Version {
  return {
    event_id: id,
    timestamp,
    device_id,
    operation,
    data_hash: data_hash ?? null,
    encrypted_data: encrypted_data ?? null,
  }
}

/** Two versions that differ in their ciphertext alone are a retry, so the stored one is never loaded. */
function withoutData(stored: StoredVersion): Version {
  const { event_id, timestamp, device_id, operation, data_hash } = stored
  return { event_id, timestamp, device_id, operation, data_hash, encrypted_data: null }
}
