import type { MadeBy, SeenUpTo } from '../../protocol/decide.ts'
import { demandLogin } from '../auth/sessions.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import { type EntityKey, entityKey, type RecordRow, type Stored } from '../db/tables/records.ts'
import { type LockedUser, lockUser } from '../db/tables/users.ts'
import type { Notices } from '../notices/notices.ts'
import { mapInTurns, pause } from '../thread/loop.ts'
import { unknownDevice } from './device.ts'
import { type Outcome, type PlanParts, plan } from './plan.ts'
import { readSeen } from './seen.ts'
import { type RecordShare, type Verdict, type Written, writeShares } from './shares.ts'
import { store } from './store.ts'

export interface WriteParts extends PlanParts {
  database: Pick<Database, 'write' | 'writeJointly'>
  notices: Pick<Notices, 'publishChange'>
}

type Write = Pick<RecordShare, 'userId' | 'loginId' | 'now'>

/** What a write has decided, and what else it wants to return. */
type Result<T> = Outcome & { result: T }

/**
 * This and `writeRecords` are the only ways to change a user's records: lock, decide, store, and publish after the commit.
 * `decide` may read and settle, but must leave everything else to `store`, which gets what it decides; it runs again if the
 * transaction is retried. If it throws, nothing is written. So it is if the user's quota is exceeded, and if the login has
 * ended.
 */
export async function changeRecords<T>(
  parts: WriteParts,
  { userId, loginId, now }: Write,
  decide: (trx: Trx, user: LockedUser) => Promise<Result<T>>,
): Promise<{ result: T; rows: RecordRow[] }> {
  const written = await parts.database.write(async (trx) => {
    const user = await lockUser(trx, userId)
    await demandLogin(trx, { userId, loginId })
    const { result, ...outcome } = await decide(trx, user)
    const planned = await plan(parts, trx, user, now, outcome)
    await store(parts, trx, [planned])
    return { result, rows: planned.rows }
  }, userId)
  if (written.rows.length > 0) parts.notices.publishChange(userId)
  return written
}

/**
 * Applies changes of known entities, together with other requests of the user that wait for the lock. `decide` gets all
 * changes of one entity, its stored version and what their devices had seen. Tombstones beyond the user's quota are left
 * out. `bytes` is the ciphertext of all changes, and `syncedBy` the device that syncs with this write.
 */
export async function writeRecords<Change extends EntityKey & MadeBy, Decided extends Verdict>(
  parts: WriteParts,
  { syncedBy = unknownDevice, ...write }: Write & { bytes: number; syncedBy?: string | undefined },
  changes: Change[],
  decide: (changes: Change[], stored: Stored | undefined, seenUpTo: SeenUpTo) => Decided,
): Promise<Written & { verdicts: Decided[] }> {
  await pause()
  const changesOf = Map.groupBy(changes, entityKey)
  const entities = [...changesOf.values()] as [Change, ...Change[]][]
  let verdicts: Decided[] = []
  const share: RecordShare = {
    ...write,
    parts,
    syncedBy,
    keys: [...changesOf.keys()],
    entities: entities.map(([first]) => first),
    async decide(trx, user, stored) {
      const seenUpTo = await readSeen(trx, user, entities, stored)
      verdicts = await mapInTurns(entities, (changesOfOne, index) => decide(changesOfOne, stored[index], seenUpTo))
      return verdicts
    },
  }
  const written = await parts.database.writeJointly(write.userId, share, writeShares)
  if (written.rows.length > 0) parts.notices.publishChange(write.userId)
  return { verdicts, ...written }
}
