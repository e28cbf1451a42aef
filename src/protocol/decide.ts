import type { components } from '../../generated/openapi.ts'
import { compareVersions, isRetry, isSameChange, type Version } from './versions.ts'

type Change = components['schemas']['Change']

export interface MadeBy {
  device_id: string
  /** The device's cursor when it made the change; if absent, the change counts as made at its last pull. */
  base?: number
}

/** The sequence number up to which the device of a change had seen the user's changes when it made this one. */
export type SeenUpTo = (change: MadeBy) => number

/** The current version of an entity, with its sequence number. */
interface Stored extends Version {
  stamp: number
}

interface Winner extends Required<Version> {
  createdAt: number
  resolution: 'device_id' | 'last_write_wins' | undefined
  /** Whether it replaces another device's version that its own device had not seen. */
  unseen: boolean
}

export interface Decision {
  /** Replaces what is stored. */
  winner: Winner | undefined
  /** The device whose change was rejected. */
  loser: string | undefined
  /** The changes that lost, each with the reason. */
  lost: ReadonlyMap<Change, string>
  /** The changes that would overwrite what their device had not seen, and are not to; each with the reason. */
  unseen: ReadonlyMap<Change, string>
}

const nothing: ReadonlyMap<Change, string> = new Map()

/**
 * Decides between the stored version of an entity and all its changes in one push: the greatest of them wins. Those that
 * are not to overwrite what their device had not seen, but would, take no part.
 */
export function decide(changes: Change[], stored: Stored | undefined, seenUpTo: SeenUpTo): Decision {
  const isHeldBack = (change: Change) => {
    if (change.if_unseen !== 'reject' || !stored || !isUnseen(change, stored, seenUpTo)) return false
    const version = toVersion(change)
    return compareVersions(version, stored) > 0 && !isSameChange(version, stored)
  }
  const heldBack = stored ? changes.filter(isHeldBack) : []
  if (!stored || heldBack.length === 0) return decideAmong(changes, stored, seenUpTo)
  const why = `It was made without having seen the version of ${stored.timestamp} by ${stored.device_id}`
  const unseen = new Map(heldBack.map((change) => [change, why]))
  const others = changes.filter((change) => !unseen.has(change))
  if (others.length === 0) return { winner: undefined, loser: undefined, lost: nothing, unseen }
  return { ...decideAmong(others, stored, seenUpTo), unseen }
}

function decideAmong(changes: Change[], stored: Stored | undefined, seenUpTo: SeenUpTo): Decision {
  const greatest = changes.reduce((best, other) =>
    compareVersions(toVersion(other), toVersion(best)) > 0 ? other : best,
  )
  const challenger = toVersion(greatest)
  // What differs in its ciphertext alone is a retry, so the stored one is never loaded.
  const isStored = stored !== undefined && isRetry(challenger, stored)
  const isWritten = !stored || (!isStored && compareVersions(challenger, stored) > 0)
  const winner: Version = isWritten ? challenger : stored
  const losers = changes.filter((change) => {
    const isKept = change.id === winner.event_id
    const supersededByItsDevice = (isWritten || isStored) && change.device_id === winner.device_id
    return !isKept && !supersededByItsDevice && !isSameChange(toVersion(change), winner)
  })
  const overwritesUnseen = stored !== undefined && isUnseen(greatest, stored, seenUpTo)
  return {
    winner: isWritten
      ? {
          ...challenger,
          createdAt: challenger.timestamp,
          resolution: resolve(greatest, changes, stored, overwritesUnseen),
          unseen: overwritesUnseen && !isSameChange(challenger, stored),
        }
      : undefined,
    lost: losers.length === 0 ? nothing : new Map(losers.map((change) => [change, reason(change, winner)])),
    loser: losers.at(-1)?.device_id,
    unseen: nothing,
  }
}

function resolve(
  winner: Change,
  changes: Change[],
  stored: Stored | undefined,
  overwritesUnseen: boolean,
): Winner['resolution'] {
  const isTied = (other: Pick<Version, 'timestamp' | 'device_id'>) =>
    other.timestamp === winner.timestamp && other.device_id !== winner.device_id
  if (changes.some(isTied) || (stored && isTied(stored))) return 'device_id'
  return overwritesUnseen ? 'last_write_wins' : undefined
}

/** An edit gets a greater timestamp than the version that it edits: if they are equal, neither had seen the other. */
function isUnseen(winner: Change, stored: Stored, seenUpTo: SeenUpTo): boolean {
  if (stored.device_id === winner.device_id) return false
  return stored.timestamp === winner.timestamp || stored.stamp > seenUpTo(winner)
}

function reason(loser: Change, winner: Version): string {
  const version = `the version of ${winner.timestamp} by ${winner.device_id}`
  if (loser.timestamp < winner.timestamp) return `Last write wins: ${version} is newer`
  if (loser.device_id !== winner.device_id) return `Equal timestamps, greater device_id wins: ${version} is kept`
  return `Equal timestamps and devices, the later operation and event wins: ${version} is kept`
}

function toVersion({ id, timestamp, device_id, operation, data_hash, encrypted_data }: Change): Required<Version> {
  return {
    event_id: id,
    timestamp,
    device_id,
    operation,
    data_hash: data_hash ?? null,
    encrypted_data: encrypted_data ?? null,
  }
}
