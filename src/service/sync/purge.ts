import { requireLogin } from '../auth/sessions.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/engine/database.ts'
import { purge, subtract } from '../db/tables/erased-versions.ts'
import { findStored } from '../db/tables/records.ts'
import { lockUser, saveCounters } from '../db/tables/users.ts'
import type { Caller } from './change.ts'
import { isLive } from './rows.ts'

/** Erases all versions of a deleted record. Devices need not learn of it: for them, only the tombstone counts. */
export async function purgeRecord(
  { database }: { database: Pick<Database, 'write'> },
  { userId, loginId }: Omit<Caller, 'deviceId'>,
  id: string,
): Promise<void> {
  const bookmark = { entity_type: 'bookmark', entity_id: id } as const
  await database.write(async (trx) => {
    const user = await lockUser(trx, userId)
    await requireLogin(trx, { userId, loginId })
    const [stored] = await findStored(trx, userId, [bookmark])
    if (!stored || isLive(stored)) throw new ServiceError('BookmarkNotFound')
    const erased = await purge(trx, userId, bookmark)
    await saveCounters(trx, subtract(user, erased))
  }, userId)
}
