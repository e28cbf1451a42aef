import { quotas } from '../../../generated/limits.ts'
import type { MadeBy, SeenUpTo } from '../../protocol/decide.ts'
import { continueFrom } from '../../protocol/sequence.ts'
import { demandLogin } from '../auth/sessions.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database, JointWork, Trx } from '../db/engine/database.ts'
import { inOrder } from '../db/engine/query.ts'
import { type Rejection, rejections } from '../db/tables/conflicts.ts'
import { findCursors, saveSync } from '../db/tables/devices.ts'
import { holdLogins } from '../db/tables/logins.ts'
import { type EntityKey, entityKey, findStored, type RecordRow, type Stored } from '../db/tables/records.ts'
import { type LockedUser, lockUser } from '../db/tables/users.ts'
import { findKeptData, findOnUnseen, type ReplacedUnseen, type VersionRow } from '../db/tables/versions.ts'
import type { Notices } from '../notices/notices.ts'
import { mapInTurns, pause } from '../thread/loop.ts'
import { type Caller, type Decided, type Effects, type Intent, unknownDevice, type Written } from './change.ts'
import { addToSum, knownSum, toStoredDigest } from './digest.ts'
import { keepLosers } from './losers.ts'
import { beginCommit, type Commit, type CommitParts } from './numbers.ts'
import { withRoom } from './room.ts'
import { isLive, isWon, toRecord, toReplaced, type Won } from './rows.ts'
import { store } from './store.ts'
import { addedBytes, addedEmptyTombstones, countRecords, type QuotaLimits, withinQuota } from './usage.ts'

export interface WriteParts {
  config: WriteConfig
  /** The service's, Unix ms. */
  clock: () => number
  database: Pick<Database, 'write' | 'writeJointly'>
  clockGuard: CommitParts['clockGuard']
  notices: Pick<Notices, 'publishChange'>
  writeTogether: JointWork<AnyIntent, Written>
}

type JointParts = CommitParts & Pick<WriteParts, 'config'>

type WriteConfig = QuotaLimits & { keepVersionsDays: number }

/**
 * This and `changeRecords` are the only ways to change a user's records: lock, decide, store, and publish after the commit.
 * Applies an intent together with others of the user that wait for the lock. If it throws, nothing of it is written: so it is
 * if the user's quota is exceeded, and if the login has ended. Tombstones beyond the quota are left out.
 */
export async function writeRecords<Wanted extends EntityKey & MadeBy>(
  { database, notices, writeTogether }: WriteParts,
  intent: Intent<Wanted>,
): Promise<Written> {
  await pause()
  const { userId } = intent.caller
  const written = await withRoom(database, intent.caller, (usedAtFirst) =>
    database.writeJointly(userId, { ...intent, usedAtFirst }, writeTogether),
  )
  if (written.rows.length > 0) notices.publishChange(userId)
  return written
}

type AnyIntent = Intent<EntityKey & MadeBy>

/** Only what is the same work shares a transaction, so a service makes it once. */
export function createJointWrite(parts: JointParts): WriteParts['writeTogether'] {
  return (trx, userId, take) => writeTogether(parts, trx, userId, take)
}

/** Decides one after the other, each with the counters that the one before leaves, and stores all at once. */
async function writeTogether(
  { config, ...parts }: JointParts,
  trx: Trx,
  userId: string,
  take: () => AnyIntent[],
): Promise<PromiseSettledResult<Written>[]> {
  const locked = await lockUser(trx, userId)
  let user = locked
  const commit = beginCommit(user, parts)
  const intents = take()
  const logins = new Set(intents.map(({ caller }) => caller.loginId))
  const keys = intents.flatMap(({ entities }) => [...entities.values()].map(([first]) => first as EntityKey))
  const [held, stored] = await inOrder(trx, [
    () => holdLogins(trx, userId, logins),
    () => findStored(trx, userId, keys),
  ])
  const effects: Effects[] = []
  const synced = new Map<string, number>()
  const outcomes: PromiseSettledResult<Written>[] = []
  for (const { caller, entities, syncedBy, decide } of intents) {
    const own = stored.splice(0, entities.size)
    try {
      if (!held.has(caller.loginId)) throw new ServiceError('InvalidSession')
      const wanted = [...entities.values()]
      const seenUpTo = await readSeen(trx, user, wanted, own)
      const verdicts = await mapInTurns(wanted, (ofOne, index) => decide(ofOne, own[index], seenUpTo))
      const effect = await effectsOf(config, trx, user, commit, verdicts)
      const value = { rows: effect.records, before: user.last_stamp, epoch: user.epoch, verdicts }
      outcomes.push({ status: 'fulfilled', value })
      effects.push(effect)
      if (syncedBy !== undefined && syncedBy !== unknownDevice) synced.set(syncedBy, commit.at)
      user = effect.user
    } catch (reason) {
      if (!(reason instanceof ServiceError)) throw reason
      outcomes.push({ status: 'rejected', reason })
    }
  }
  const tried = intents.flatMap(({ usedAtFirst }) => usedAtFirst ?? [])
  const usedAtFirst = tried.length > 0 ? Math.max(...tried) : undefined
  const rejected = effects.flatMap(({ rejections }) => rejections)
  await inOrder(trx, [
    () => store(config, trx, locked, effects, usedAtFirst),
    () => rejections.upsert(trx, rejected),
    ...[...synced].map(([device_id, last_sync]) => {
      return () => saveSync(trx, { user_id: userId, device_id, last_sync })
    }),
  ])
  return outcomes
}

/**
 * Does so alone, with what `decide` reads while the user's row is locked. It may settle conflicts, must leave everything else to
 * the effects, and runs again if the transaction does.
 */
export async function changeRecords<T>(
  { config, database, notices, ...parts }: WriteParts,
  caller: Caller,
  decide: (trx: Trx, user: LockedUser, now: number) => Promise<{ verdicts: Decided[]; result: T }>,
): Promise<{ result: T; rows: RecordRow[] }> {
  const { userId, loginId } = caller
  const change = async (trx: Trx, usedAtFirst?: number) => {
    const user = await lockUser(trx, userId)
    const commit = beginCommit(user, parts)
    await demandLogin(trx, { userId, loginId })
    const { verdicts, result } = await decide(trx, user, commit.at)
    const effects = await effectsOf(config, trx, user, commit, verdicts)
    await store(config, trx, user, [effects], usedAtFirst)
    return { result, rows: effects.records }
  }
  const written = await withRoom(database, caller, (usedAtFirst) =>
    database.write((trx) => change(trx, usedAtFirst), userId),
  )
  if (written.rows.length > 0) notices.publishChange(userId)
  return written
}

/** Reads the cursors of the devices that replace another device's version without saying what they had seen. */
export async function readSeen(
  trx: Trx,
  user: LockedUser,
  wanted: MadeBy[][],
  stored: (Stored | undefined)[],
): Promise<SeenUpTo> {
  const others = wanted.flatMap((ofOne, index) => {
    const maker = stored[index]?.device_id
    return maker === undefined ? [] : ofOne.filter(({ device_id, base }) => base === undefined && device_id !== maker)
  })
  const deviceIds = new Set(others.map(({ device_id }) => device_id).filter((id) => id !== unknownDevice))
  const cursors = deviceIds.size > 0 ? await findCursors(trx, user.id, deviceIds) : undefined
  return ({ device_id, base }) => continueFrom(base ?? cursors?.get(device_id) ?? 0, user.last_stamp)
}

/** A request without a device id counts as having seen what it replaces. */
export function baseOf(deviceId: string, stored: Stored | undefined): Pick<MadeBy, 'base'> {
  return deviceId === unknownDevice && stored ? { base: stored.stamp } : {}
}

/**
 * From verdicts to the records and versions that they leave, and to the user's counters. Writes nothing; throws
 * QuotaExceeded.
 */
async function effectsOf(
  config: WriteConfig,
  trx: Trx,
  user: LockedUser,
  commit: Commit,
  verdicts: Decided[],
): Promise<Effects> {
  const isKept = config.keepVersionsDays > 0
  const won = verdicts.filter(isWon)
  const removed = isKept ? await unkeptData(trx, user.id, won) : won.flatMap(unusedData)
  const freed = removed.reduce((sum, { bytes }) => sum + bytes, 0)
  const added = addedBytes(won, freed, isKept)
  const written = withinQuota(config, user, verdicts, added)
  const onUnseen = isKept ? await findOnUnseen(trx, user.id, written.flatMap(replacedUnseen)) : new Set<string>()
  const records = await mapInTurns(written, (one) =>
    toRecord(user.id, commit, one, { isKept, isOnUnseen: onUnseen.has(entityKey(one.winner)) }),
  )
  const recordOf = (index: number) => records[index] as RecordRow
  const replaced = isKept
    ? written.flatMap(({ stored, unseenAfter }, index) =>
        stored ? [toReplaced(recordOf(index), commit, stored, unseenAfter !== undefined)] : [],
      )
    : []
  const hasLosers = verdicts.some(({ lost }) => lost.size > 0)
  const lost =
    isKept && hasLosers
      ? await keepLosers(trx, user.id, verdicts, { records, replaced }, commit, maxVersions)
      : { versions: [], ciphertexts: [] }
  const lostBytes = lost.versions.reduce((sum, { bytes }) => sum + bytes, 0)
  const counted = countVersions(verdicts, records, lost.versions)
  const sum = knownSum(user)
  return {
    records,
    edits: records.filter(({ deleted_at }, index) => deleted_at === null && isLive(written[index]?.stored)),
    versions: [...replaced, ...lost.versions],
    ciphertexts: lost.ciphertexts,
    ...counted,
    removed: removed.map(({ data_stamp }) => data_stamp),
    restored: written.flatMap(({ shared }) => shared?.seq ?? []),
    settled: isKept ? [] : written.flatMap(({ stored, winner }) => (stored ? [winner] : [])),
    rejections: isKept || !hasLosers ? [] : toRejections(user.id, commit.at, verdicts, records),
    added: added.stored_bytes + freed + lostBytes,
    user: {
      ...user,
      ...countRecords(user, written),
      empty_tombstones: user.empty_tombstones + addedEmptyTombstones(verdicts, records, counted.recounted),
      stored_versions: user.stored_versions + replaced.length + lost.versions.length,
      last_stamp: commit.last(),
      stored_bytes: user.stored_bytes + added.stored_bytes + lostBytes,
      version_bytes: user.version_bytes + added.version_bytes + lostBytes,
      ...toStoredDigest(sum === undefined ? undefined : written.reduce(addToSum, sum), commit.last()),
    },
  }
}

/** What the winner replaces, if that was made on a version of which its device may not have seen all. */
function replacedUnseen({ stored, unseenAfter }: Won): ReplacedUnseen[] {
  return stored && unseenAfter !== undefined && stored.versions > 0 ? [{ ...stored, unseenAfter }] : []
}

interface StoredData {
  data_stamp: number
  bytes: number
}

/** The stored ciphertext that a winner does not go on using. */
function unusedData({ stored, shared }: Won): StoredData[] {
  if (!stored || stored.data_stamp === null || shared?.data_stamp === stored.data_stamp) return []
  return [{ data_stamp: stored.data_stamp, bytes: stored.bytes }]
}

/** Ciphertext that deleted records have from a time when no versions were kept: it goes when they are replaced. */
async function unkeptData(trx: Trx, userId: string, won: Won[]): Promise<StoredData[]> {
  const revived = won.filter(({ winner, stored }) => stored?.deleted_at && winner.operation !== 'delete')
  const data = revived.flatMap(unusedData)
  if (data.length === 0) return []
  const kept = await findKeptData(
    trx,
    userId,
    data.map(({ data_stamp }) => data_stamp),
  )
  return data.filter(({ data_stamp }) => !kept.has(data_stamp))
}

const maxVersions = quotas.versionsOfRecord

/** Each record counts what is kept of it: beyond the limit, that many of its versions go. */
function countVersions(
  verdicts: Decided[],
  records: RecordRow[],
  lost: VersionRow[],
): Pick<Effects, 'beyond' | 'recounted'> {
  const lostOf = Map.groupBy(lost, entityKey)
  const written = new Set(lost.length > 0 ? records.map(entityKey) : [])
  const beyond = new Map<string, number>()
  for (const record of records) {
    const added = lost.length > 0 ? (lostOf.get(entityKey(record))?.length ?? 0) : 0
    const versions = record.versions + added
    record.versions = Math.min(maxVersions, versions)
    if (versions > record.versions) beyond.set(entityKey(record), versions - record.versions)
  }
  const recounted: EntityKey[] = []
  for (const { stored } of lost.length > 0 ? verdicts : []) {
    if (!stored || written.has(entityKey(stored))) continue
    const added = lostOf.get(entityKey(stored)) ?? []
    const tooMany = Math.max(0, stored.versions + added.length - maxVersions)
    if (tooMany > 0) beyond.set(entityKey(stored), tooMany)
    recounted.push(...added.slice(tooMany))
  }
  return { beyond, recounted }
}

/** Of each entity the last change that has lost. Without a record, it has none: its tombstone was beyond the quota. */
function toRejections(user_id: string, created_at: number, verdicts: Decided[], records: RecordRow[]): Rejection[] {
  const stamps = new Map(records.map((row) => [entityKey(row), row.stamp]))
  return verdicts.flatMap(({ lost, stored }) => {
    const last = [...lost.keys()].at(-1)
    if (!last) return []
    const { entity_type, entity_id, device_id } = last
    const winner_stamp = stamps.get(entityKey(last)) ?? stored?.stamp
    return winner_stamp === undefined ? [] : [{ user_id, entity_type, entity_id, device_id, winner_stamp, created_at }]
  })
}
