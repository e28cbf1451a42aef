import { quotas } from '../../../generated/limits.ts'
import type { Trx } from '../db/engine/database.ts'
import type { Ciphertext } from '../db/tables/ciphertexts.ts'
import { type EntityKey, entityKey, type RecordRow, type Stored } from '../db/tables/records.ts'
import type { LockedUser } from '../db/tables/users.ts'
import { findKept, type VersionRow } from '../db/tables/versions.ts'
import { mapInTurns } from '../thread/loop.ts'
import { digestDelta, knownSum, toStoredDigest } from './digest.ts'
import { type Loser, type LostChange, toRejected, toReplaced, withoutKept } from './kept-versions.ts'
import { addedBytes, isNew, type QuotaLimits, withinQuota } from './quota.ts'
import { isLive, liveDelta, type Replacement, toRow } from './replacement.ts'

export interface PlanParts {
  config: QuotaLimits & { keepVersionsDays: number }
}

/** What a write has decided. */
export interface Outcome {
  replacements: Replacement[]
  /** Rejected changes, each with the current version of its entity, unless this write replaces that. */
  lost?: Lost[]
}

interface Lost {
  change: LostChange
  current: Loser['winner'] | undefined
}

/** Will be written. */
interface Written extends Replacement {
  row: RecordRow
}

/** What a write will store. */
export interface Plan {
  rows: RecordRow[]
  /** Those of them that replace a live record by a live one. */
  edits: RecordRow[]
  /** Versions that are replaced, and changes that have lost. */
  kept: VersionRow[]
  lost: VersionRow[]
  lostData: Ciphertext[]
  /** The sequence numbers of ciphertexts that go. */
  removedData: number[]
  replaced: EntityKey[]
  /** How much ciphertext it adds. */
  added: number
  /** The user's counters after it. */
  user: LockedUser
}

/**
 * Prepares what has won, what is replaced or has lost, and the user's counters. Each change gets a sequence number, which
 * grows even if the clock goes back. Writes nothing; throws QuotaExceeded.
 */
export async function plan(
  { config }: PlanParts,
  trx: Trx,
  user: LockedUser,
  now: number,
  { replacements, lost: losing = [] }: Outcome,
): Promise<Plan> {
  const isKept = config.keepVersionsDays > 0
  const removed = isKept ? await unkeptData(trx, user.id, replacements) : replacements.flatMap(storedData)
  const freed = removed.reduce((sum, { bytes }) => sum + bytes, 0)
  const added = addedBytes(replacements, freed, isKept)
  const numbers = countingFrom(user.last_stamp, now)
  const maxVersions = isKept ? quotas.versionsOfRecord : 0
  const written = await mapInTurns(withinQuota(config, user, replacements, added), (replacement): Written => {
    const { entity, winner, stored } = replacement
    return { entity, winner, stored, row: toRow(user.id, numbers.next(), replacement, maxVersions) }
  })
  const superseded = isKept ? written.filter(isReplacing).map(toReplaced) : []
  const rejected = isKept ? await keptLosers(trx, user.id, losing, written, superseded) : []
  const lost = rejected.map((loser) => toRejected(user.id, numbers.next(), loser))
  const lostBytes = lost.reduce((sum, { bytes }) => sum + bytes, 0)
  const sum = knownSum(user)
  const digest =
    sum === undefined ? undefined : written.reduce((total, replacement) => total + digestDelta(replacement), sum)
  return {
    rows: written.map(({ row }) => row),
    edits: written.filter(isEdit).map(({ row }) => row),
    kept: [...superseded, ...lost],
    lost,
    lostData: rejected.flatMap((loser, index) => toCiphertext(loser, lost[index])),
    removedData: removed.map(({ data_stamp }) => data_stamp),
    replaced: written.filter(isReplacing).map(({ entity }) => entity),
    added: added.stored_bytes + freed + lostBytes,
    user: {
      ...user,
      last_stamp: numbers.last(),
      live_bookmarks: user.live_bookmarks + written.reduce((sum, replacement) => sum + liveDelta(replacement), 0),
      stored_bytes: user.stored_bytes + added.stored_bytes + lostBytes,
      version_bytes: user.version_bytes + added.version_bytes + lostBytes,
      stored_records: user.stored_records + written.filter(isNew).length,
      ...toStoredDigest(digest, numbers.last()),
    },
  }
}

function isReplacing(written: Written): written is Written & { stored: Stored } {
  return written.stored !== undefined
}

function isEdit({ row, stored }: Written): boolean {
  return isLive(stored) && row.deleted_at === null
}

function countingFrom(last: number, now: number) {
  let number = last
  const next = () => {
    number = Math.max(now, number + 1)
    return number
  }
  return { next, last: () => number }
}

interface StoredData {
  data_stamp: number
  bytes: number
}

/** The stored ciphertext that a replacement does not go on using. */
function storedData({ winner, stored }: Replacement): StoredData[] {
  if (!stored || stored.data_stamp === null || winner.restored?.data_stamp === stored.data_stamp) return []
  return [{ data_stamp: stored.data_stamp, bytes: stored.bytes }]
}

/** What deleted records have of a time when no versions were kept goes when they are replaced. */
async function unkeptData(trx: Trx, userId: string, replacements: Replacement[]): Promise<StoredData[]> {
  const revived = replacements.filter(({ winner, stored }) => stored?.deleted_at && winner.operation !== 'delete')
  const data = revived.flatMap(storedData)
  if (data.length === 0) return []
  const ids = revived.map(({ entity }) => entity.entity_id)
  const kept = new Set((await findKept(trx, userId, ids)).map(({ data_stamp }) => data_stamp))
  return data.filter(({ data_stamp }) => !kept.has(data_stamp))
}

/** Those that are not kept yet. An entity without a record has no version: its tombstone was beyond the quota. */
async function keptLosers(
  trx: Trx,
  userId: string,
  lost: Lost[],
  written: Written[],
  replaced: VersionRow[],
): Promise<Loser[]> {
  if (lost.length === 0) return []
  const rows = new Map(written.map(({ row }) => [entityKey(row), row]))
  const losers = lost.flatMap(({ change, current }) => {
    const winner = rows.get(entityKey(change)) ?? current
    return winner ? [{ change, winner }] : []
  })
  const kept = await findKept(trx, userId, [...new Set(losers.map(({ change }) => change.entity_id))])
  return withoutKept(losers, [...kept, ...replaced])
}

function toCiphertext({ change }: Loser, version: VersionRow | undefined): Ciphertext[] {
  if (!version || version.data_stamp === null || change.encrypted_data === undefined) return []
  return [{ user_id: version.user_id, stamp: version.data_stamp, encrypted_data: change.encrypted_data }]
}
