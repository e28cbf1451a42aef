import { SyncEvent } from '../../generated/limits.ts'
import type { components } from '../../generated/openapi.ts'
import { compareVersions, isRetry, isSameChange, type Version } from './order.ts'
import { editOf } from './re-encrypted.ts'

type Change = components['schemas']['Change']

export interface MadeBy {
  device_id: string
  /** The device's cursor when it made the change. Without it, the cursor of the device's last pull counts. */
  base?: number
  /** The event id of the entity's newest version that the device knew. If absent, it knew all that it made itself. */
  made_on?: string | null
}

/** Returns the sequence number up to which a change's device had seen the user's changes when it made the change. */
export type SeenUpTo = (change: MadeBy) => number

/** The current version of an entity, with its sequence number. */
interface Current extends Version {
  sequence: number
}

/** The decision about the changes to one entity in a write. */
export interface Verdict<Stored> {
  stored: Stored | undefined
  /** The change that replaces what is stored. */
  winner: Change | undefined
  resolution: 'device_id' | 'last_write_wins' | undefined
  /** If the winner changes a version that its device had not seen: the sequence number up to which it had seen any. */
  unseenAfter: number | undefined
  /** The changes that lost, with the reason for each. */
  lost: ReadonlyMap<Change, string>
  /** Rejected changes that did not lose, with the reasons: `if_unseen`, or an import whose id is in use. */
  heldBack: ReadonlyMap<Change, string>
}

const nothing: ReadonlyMap<Change, string> = new Map()

/** Decides between an entity's stored version and its changes in one write. */
export function decide<Stored extends Current>(
  changes: Change[],
  stored: Stored | undefined,
  seenUpTo: SeenUpTo,
): Verdict<Stored> {
  const isHeldBack = (change: Change) => {
    if (change.if_unseen !== 'reject' || !stored || !isUnseen(change, stored, seenUpTo)) return false
    const { device_id, merged_up_to: base } = change
    if (base !== undefined && stored.sequence <= seenUpTo({ device_id, base })) return false
    const version = toVersion(change)
    return compareVersions(version, stored) > 0 && !isSameChange(version, stored)
  }
  const heldBack = stored ? changes.filter(isHeldBack) : []
  if (!stored || heldBack.length === 0) return decideAmong(changes, stored, seenUpTo)
  const why = `It was made without having seen the version of ${stored.timestamp} by ${stored.device_id}`
  const reasons = new Map(heldBack.map((change) => [change, why]))
  const others = changes.filter((change) => !reasons.has(change))
  const among = others.length === 0 ? unchanged(stored) : decideAmong(others, stored, seenUpTo)
  return { ...among, heldBack: reasons }
}

/** The stored version stays, and no change was rejected. */
export function unchanged<Stored>(stored: Stored | undefined): Verdict<Stored> {
  return { stored, winner: undefined, resolution: undefined, unseenAfter: undefined, lost: nothing, heldBack: nothing }
}

/** The change wins without a conflict, as if its device had seen what it replaces. */
export function replace<Stored>(stored: Stored | undefined, winner: Change): Verdict<Stored> {
  return { ...unchanged(stored), winner }
}

/** The stored version stays, and the change is rejected. */
export function keep<Stored>(stored: Stored, change: Change, reason: string): Verdict<Stored> {
  return { ...unchanged(stored), heldBack: new Map([[change, reason]]) }
}

function decideAmong<Stored extends Current>(
  changes: Change[],
  stored: Stored | undefined,
  seenUpTo: SeenUpTo,
): Verdict<Stored> {
  const greatest = changes.reduce((best, other) =>
    compareVersions(toVersion(other), toVersion(best)) > 0 ? other : best,
  )
  const challenger = toVersion(greatest)
  // A change that differs only in its ciphertext is a retry, so the stored ciphertext need not be read.
  const isStored = stored !== undefined && isRetry(challenger, stored)
  const isWritten = !stored || (!isStored && compareVersions(challenger, stored) > 0)
  const current: Version = isWritten ? challenger : stored
  const losers = changes.filter((change) => {
    const isKept = change.id === current.event_id
    const supersededByItsDevice = (isWritten || isStored) && change.device_id === current.device_id
    return !isKept && !supersededByItsDevice && !isSameChange(toVersion(change), current)
  })
  const lost = losers.length === 0 ? nothing : new Map(losers.map((change) => [change, reason(change, current)]))
  if (!isWritten) return { ...unchanged(stored), lost }
  const overwritesUnseen = stored !== undefined && isUnseen(greatest, stored, seenUpTo)
  const resolution = resolve(greatest, changes, stored, overwritesUnseen)
  const unseenAfter = overwritesUnseen && !isSameChange(challenger, stored) ? seenUpTo(greatest) : undefined
  return { stored, winner: greatest, resolution, unseenAfter, lost, heldBack: nothing }
}

function resolve(
  winner: Change,
  changes: Change[],
  stored: Current | undefined,
  overwritesUnseen: boolean,
): Verdict<Current>['resolution'] {
  const isTied = (other: Pick<Version, 'timestamp' | 'device_id'>) =>
    other.timestamp === winner.timestamp && other.device_id !== winner.device_id
  if (changes.some(isTied) || (stored && isTied(stored))) return 'device_id'
  return overwritesUnseen ? 'last_write_wins' : undefined
}

/**
 * True if the winner's device had not seen the stored version. An edit gets a greater timestamp than the version that it
 * edits, so with equal timestamps neither device had seen the other's.
 */
function isUnseen(winner: Change, stored: Current, seenUpTo: SeenUpTo): boolean {
  if (isOwn(winner, stored)) return false
  return stored.timestamp === winner.timestamp || stored.sequence > seenUpTo(winner)
}

/** True if the change's device made the stored version. A copy of the device has its id, but another `made_on`. */
export function isOwn({ device_id, made_on }: MadeBy, stored: Pick<Version, 'device_id' | 'event_id'>): boolean {
  if (device_id !== stored.device_id) return false
  return made_on === undefined || (made_on !== null && editOf(made_on) === editOf(stored.event_id))
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

export type Overwritten = NonNullable<components['schemas']['SyncEvent']['overwritten']>

const { maxItems } = SyncEvent.overwritten

/**
 * Adds a version that a device replaced without having seen it. Keeps the last of each device, at most `maxItems`. A later one
 * may be listed already: a version that is sent again after a recovery comes with its list, and replaces an earlier one.
 */
export function addOverwritten(
  before: Overwritten,
  { device_id, timestamp }: Overwritten[number],
  isMadeOnUnseen: boolean,
): Overwritten {
  const others = before.filter((version) => version.device_id !== device_id)
  const known = before.find((version) => version.device_id === device_id && version.timestamp > timestamp)
  const added = { ...(known ?? { device_id, timestamp }), ...(isMadeOnUnseen && { made_on_unseen: true }) }
  return [...others, added].slice(-maxItems)
}
