import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { quotas } from '../../../generated/limits.ts'
import { isOwn, type MadeBy, type SeenUpTo } from '../../protocol/decide.ts'
import { requireLogin } from '../auth/sessions.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import { inOrder } from '../db/engine/query.ts'
import { isLong } from '../db/tables/ciphertexts.ts'
import { settleRestored } from '../db/tables/conflicts.ts'
import { findCursors, saveSync } from '../db/tables/devices.ts'
import { type EntityKey, entityKey, findStored, type RecordRow, type Stored } from '../db/tables/records.ts'
import { type LockedUser, lockUser, saveCounters } from '../db/tables/users.ts'
import type { VersionRow } from '../db/tables/versions.ts'
import type { Notices } from '../notices/notices.ts'
import { type Caller, type Decided, type Effects, type Intent, unknownDevice, type Written } from './change.ts'
import { digestsAfter } from './digest.ts'
import { keepLosers } from './losers.ts'
import { beginCommit, type Commit, type CommitParts, continueFrom } from './numbers.ts'
import { makeRoom, surplusAfter, surplusBefore } from './room.ts'
import { isLive, isWon, keepsVersions, toRecord, toReplaced } from './rows.ts'
import { store } from './store.ts'
import { addedBytes, addedEmptyTombstones, countRecords, type QuotaLimits, withinQuota } from './usage.ts'

/** A write of more entities than this gives way to the event loop several times, because it takes long. */
const largeWrite = 200

export interface WriteParts extends CommitParts {
  config: QuotaLimits
  database: Pick<Database, 'write'>
  notices: Pick<Notices, 'publishChange'>
}

/** Decides about entities. Stores the winners, and the losers as versions (none of history). If it throws: see `changeRecords`. */
export async function writeRecords<Wanted extends EntityKey & MadeBy>(
  parts: WriteParts,
  { caller, entities, syncedBy, decide }: Intent<Wanted>,
): Promise<Written> {
  const wanted = [...entities.values()]
  const keys = wanted.map(([first]) => first as Wanted)
  const isLarge = keys.length > largeWrite
  return changeRecords(
    parts,
    caller,
    async (trx, user) => {
      const stored = await findStored(trx, caller.userId, keys)
      const seenUpTo = await readSeen(trx, user, wanted, stored)
      if (isLarge) await eventLoopTurn()
      return { verdicts: wanted.map((ofOne, index) => decide(ofOne, stored[index], seenUpTo)), result: undefined }
    },
    { isLarge, syncedBy },
  )
}

interface Decision<T> {
  verdicts: Decided[]
  /** Sequence numbers of versions whose conflicts are settled. */
  settled?: number[]
  result: T
}

interface Options {
  isLarge?: boolean
  syncedBy?: string | undefined
}

/**
 * How requests store changes of a user's records: lock, decide, store, and announce after the commit. `decide` must not write,
 * and may run again. Throws QuotaExceeded, InvalidSession if the login has ended, or what `decide` and `Database.write` throw:
 * then no change is stored, unless Postgres was lost in the commit. An earlier transaction may have made room nevertheless.
 */
export async function changeRecords<T>(
  { config, database, notices, ...parts }: WriteParts,
  caller: Omit<Caller, 'deviceId'>,
  decide: (trx: Trx, user: LockedUser, now: number) => Promise<Decision<T>>,
  { isLarge = false, syncedBy }: Options = {},
): Promise<Written & { result: T }> {
  const { userId, loginId } = caller

  /** Undefined if the transaction only made room, and the write must be repeated. */
  async function change(trx: Trx): Promise<(Written & { result: T }) | undefined> {
    const user = await lockUser(trx, userId)
    const commit = beginCommit(user, parts)
    const [, { verdicts, settled = [], result }] = await inOrder(trx, [
      () => requireLogin(trx, { userId, loginId }),
      () => decide(trx, user, commit.at),
    ])
    const effects = await effectsOf(config, trx, user, commit, verdicts)
    const growth = { before: user, after: effects.user, added: effects.added }
    const surplus = surplusBefore(config, growth)
    if (surplus) {
      await saveCounters(trx, await makeRoom(trx, user, surplus))
      return undefined
    }
    if (isLarge) await eventLoopTurn()
    await inOrder(trx, [
      () => store(trx, effects, surplusAfter(config, growth), isLarge),
      () => (settled.length > 0 ? settleRestored(trx, { userId, sequences: settled, now: commit.at }) : undefined),
      () =>
        syncedBy === undefined || syncedBy === unknownDevice
          ? undefined
          : saveSync(trx, { user_id: userId, device_id: syncedBy, last_sync: commit.at }),
    ])
    return { rows: effects.records, before: user.last_sequence, epoch: user.epoch, verdicts, result }
  }

  for (;;) {
    const written = await database.write(change, userId, isLarge)
    if (!written) continue
    if (written.rows.length > 0) notices.publishChange(userId)
    return written
  }
}

/** Reads the cursors of devices that replace another device's version without saying what they had seen. */
export async function readSeen(
  trx: Trx,
  user: LockedUser,
  wanted: MadeBy[][],
  stored: (Stored | undefined)[],
): Promise<SeenUpTo> {
  const others = wanted.flatMap((ofOne, index) => {
    const version = stored[index]
    return version ? ofOne.filter((one) => one.base === undefined && !isOwn(one, version)) : []
  })
  const deviceIds = new Set(others.map(({ device_id }) => device_id).filter((id) => id !== unknownDevice))
  const cursors = deviceIds.size > 0 ? await findCursors(trx, user.id, deviceIds) : undefined
  return ({ device_id, base }) => continueFrom(base ?? cursors?.get(device_id) ?? 0, user.last_sequence)
}

/** A request without a device id counts as having seen what it replaces. */
export function baseOf(deviceId: string, stored: Stored | undefined): Pick<MadeBy, 'base'> {
  return deviceId === unknownDevice && stored ? { base: stored.sequence } : {}
}

/** Computes the effects of the verdicts. Writes nothing. Throws QuotaExceeded. */
async function effectsOf(
  limits: QuotaLimits,
  trx: Trx,
  user: LockedUser,
  commit: Commit,
  verdicts: Decided[],
): Promise<Effects> {
  const won = verdicts.filter(isWon)
  const added = addedBytes(won)
  const written = withinQuota(limits, user, won, added)
  const records = written.map((one) => toRecord(user.id, commit, one))
  const recordOf = (index: number) => records[index] as RecordRow
  const replaced = written.flatMap(({ stored, unseenAfter }, index) =>
    stored && keepsVersions(stored) ? [toReplaced(recordOf(index), commit, stored, unseenAfter !== undefined)] : [],
  )
  const losing = verdicts.filter(({ lost }) => [...lost.keys()].some(keepsVersions))
  const lost =
    losing.length > 0
      ? await keepLosers(trx, user.id, losing, { records, replaced }, commit, maxVersions)
      : { versions: [], ciphertexts: [] }
  const lostBytes = lost.versions.reduce((sum, { bytes }) => sum + bytes, 0)
  const counted = countVersions(verdicts, records, lost.versions)
  return {
    records,
    edits: records.filter(({ deleted_at }, index) => deleted_at === null && isLive(written[index]?.stored)),
    versions: [...replaced, ...lost.versions],
    ciphertexts: lost.ciphertexts,
    erased: written.flatMap(({ stored }) =>
      isLive(stored) && !keepsVersions(stored) && isLong(stored) ? [stored] : [],
    ),
    ...counted,
    restored: written.flatMap(({ shared }) => shared?.sequence ?? []),
    added: { all: added.stored_bytes + lostBytes, won: added.stored_bytes },
    user: {
      ...user,
      ...countRecords(user, written),
      empty_tombstones: user.empty_tombstones + addedEmptyTombstones(verdicts, records, counted.recounted),
      stored_versions: user.stored_versions + replaced.length + lost.versions.length,
      last_sequence: commit.last(),
      stored_bytes: user.stored_bytes + added.stored_bytes + lostBytes,
      version_bytes: user.version_bytes + added.version_bytes + lostBytes,
      ...digestsAfter(user, written),
    },
  }
}

const maxVersions = quotas.versionsOfRecord

/** Counts the versions of each record, and finds the surplus beyond the limit. */
function countVersions(
  verdicts: Decided[],
  records: RecordRow[],
  lost: VersionRow[],
): Pick<Effects, 'beyond' | 'recounted'> {
  const lostOf = Map.groupBy(lost, entityKey)
  const beyond: Effects['beyond'] = []
  for (const record of records) {
    const versions = record.versions + (lost.length > 0 ? (lostOf.get(entityKey(record))?.length ?? 0) : 0)
    record.versions = Math.min(maxVersions, versions)
    if (versions > record.versions) beyond.push(surplusOf(record, versions - record.versions))
  }
  const recounted: EntityKey[] = []
  const written = new Set(lost.length > 0 ? records.map(entityKey) : [])
  for (const { stored } of lost.length > 0 ? verdicts : []) {
    if (!stored || written.has(entityKey(stored))) continue
    const added = lostOf.get(entityKey(stored)) ?? []
    const tooMany = Math.max(0, stored.versions + added.length - maxVersions)
    if (tooMany > 0) beyond.push(surplusOf(stored, tooMany))
    recounted.push(...added.slice(tooMany))
  }
  return { beyond, recounted }
}

function surplusOf({ entity_type, entity_id }: EntityKey, count: number) {
  return { entity_type, entity_id, count }
}
