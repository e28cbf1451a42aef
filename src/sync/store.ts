import { quotas } from '../../generated/limits.ts'
import type { Database, Trx } from '../db/database.ts'
import { knownSum, toStoredDigest } from '../db/digest.ts'
import { saveRecords } from '../db/records.ts'
import { type Ciphertext, ciphertexts, entityKey, type KeptVersion, type Row, versions } from '../db/rows.ts'
import { type LockedUser, saveCounters } from '../db/users.ts'
import { findKept, markFull } from '../db/versions.ts'
import { mapInTurns } from '../event-loop.ts'
import { digestDelta } from './digest.ts'
import { type Loser, type LostChange, toRejected, toReplaced, withoutKept } from './kept-versions.ts'
import { addedBytes, isNew, type QuotaLimits, withinQuota } from './quota.ts'
import { isLive, liveDelta, type Replacement, toRow } from './replacement.ts'
import { makeRoom } from './room.ts'

export interface StoreParts {
  config: QuotaLimits & { keepVersionsDays: number }
  database: Pick<Database, 'upsert' | 'edit' | 'settleEntities' | 'removeCiphertexts'>
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

/** Written, and not yet in the database. */
interface Written extends Replacement {
  row: Row
}

/**
 * Stores what has won, keeps what is replaced or has lost, and updates the user's counters. Each change gets a sequence
 * number, which grows even if the clock goes back. Returns the records written; throws QuotaExceeded.
 */
export async function store(
  { config, database }: StoreParts,
  trx: Trx,
  user: LockedUser,
  now: number,
  { replacements, lost = [] }: Outcome,
): Promise<Row[]> {
  const isKept = config.keepVersionsDays > 0
  const removed = isKept ? await unkeptData(trx, user.id, replacements) : replacements.flatMap(storedData)
  const freed = removed.reduce((sum, { bytes }) => sum + bytes, 0)
  const added = addedBytes(replacements, freed, isKept)
  const numbers = countingFrom(user.last_stamp, now)
  const maxVersions = isKept ? quotas.versionsOfRecord : 0
  const written = await mapInTurns(withinQuota(config, user, replacements, added), (replacement): Written => {
    return { ...replacement, row: toRow(user.id, numbers.next(), replacement, maxVersions) }
  })
  const replaced = isKept ? written.flatMap(toReplaced) : []
  const rejected = isKept ? await keptLosers(trx, user.id, lost, written, replaced) : []
  const lostVersions = rejected.map((loser) => toRejected(user.id, numbers.next(), loser))
  if (written.length + lostVersions.length === 0) return []

  const rows = written.map(({ row }) => row)
  await saveRecords(database, trx, rows, new Set(written.filter(isEdit).map(({ row }) => row)))
  await database.upsert(
    trx,
    ciphertexts,
    rejected.flatMap((loser, index) => toCiphertext(loser, lostVersions[index])),
  )
  await database.upsert(trx, versions, [...replaced, ...lostVersions])
  await database.removeCiphertexts(
    trx,
    user.id,
    removed.map(({ data_stamp }) => data_stamp),
  )
  // Only what is stored can have beaten a change.
  if (!isKept)
    await database.settleEntities(
      trx,
      user.id,
      written.flatMap(({ entity, stored }) => (stored ? [entity] : [])),
    )
  const lostBytes = lostVersions.reduce((sum, { bytes }) => sum + bytes, 0)
  const full = await fullEntities(trx, user.id, rows, lostVersions)
  const usage = await makeRoom(config, trx, user.id, full, {
    added: added.stored_bytes + freed + lostBytes,
    stored_bytes: user.stored_bytes + added.stored_bytes + lostBytes,
    version_bytes: user.version_bytes + added.version_bytes + lostBytes,
  })
  const sum = knownSum(user)
  await saveCounters(trx, {
    id: user.id,
    last_stamp: numbers.last(),
    live_bookmarks: user.live_bookmarks + written.reduce((sum, replacement) => sum + liveDelta(replacement), 0),
    ...usage,
    stored_records: user.stored_records + written.filter(isNew).length,
    ...toStoredDigest(
      sum === undefined ? undefined : written.reduce((total, replacement) => total + digestDelta(replacement), sum),
      numbers.last(),
    ),
  })
  return rows
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
  replaced: KeptVersion[],
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

function toCiphertext({ change }: Loser, version: KeptVersion | undefined): Ciphertext[] {
  if (!version || version.data_stamp === null || change.encrypted_data === undefined) return []
  return [{ user_id: version.user_id, stamp: version.data_stamp, encrypted_data: change.encrypted_data }]
}

/** The ids of those that may have too many versions. */
async function fullEntities(trx: Trx, userId: string, rows: Row[], rejected: KeptVersion[]): Promise<string[]> {
  const lost = rejected.map(({ entity_id }) => entity_id)
  await markFull(trx, userId, lost, quotas.versionsOfRecord)
  const full = rows.filter((row) => row.versions === quotas.versionsOfRecord)
  return [...new Set([...full.map(({ entity_id }) => entity_id), ...lost])]
}
