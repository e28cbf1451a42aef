import type { Selectable } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'
import type { LoginKey } from './logins.ts'

type LoginRow = Pick<Selectable<Schema['logins']>, 'id' | 'created_at' | 'last_used_at' | 'user_agent'>

/** Of a user's logins those before the id `before`, newest first: ids are in the order of time. */
export async function listLogins(
  db: Db,
  userId: string,
  before: string | undefined,
  limit: number,
  now: number,
): Promise<LoginRow[]> {
  const page = db
    .selectFrom('logins')
    .select(['id', 'created_at', 'last_used_at', 'user_agent'])
    .where('user_id', '=', userId)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('tokens')
          .select('hash')
          .whereRef('tokens.user_id', '=', 'logins.user_id')
          .whereRef('tokens.login_id', '=', 'logins.id')
          .where('expires_at', '>', now),
      ),
    )
    .orderBy('id', 'desc')
    .limit(limit)
  return (before === undefined ? page : page.where('id', '<', before)).execute()
}

/** Stores that the login was used in the hour, unless that is known. */
export async function saveUse(trx: Trx, { userId, loginId }: LoginKey, hour: number): Promise<void> {
  await trx
    .updateTable('logins')
    .set({ last_used_at: hour })
    .where('user_id', '=', userId)
    .where('id', '=', loginId)
    .where(({ or, eb }) => or([eb('last_used_at', 'is', null), eb('last_used_at', '<', hour)]))
    .execute()
}

/**
 * Keeps the logins, or all of the user's, from ending or being written otherwise before the transaction does. Locks them in
 * the order of their ids, as whoever ends several does, so that no two wait for each other. Returns when each of those that are
 * there began, by id.
 */
export async function lockLogins(trx: Trx, userId: string, ids?: string[]): Promise<Map<string, number>> {
  const logins = trx
    .selectFrom('logins')
    .select(['id', 'created_at'])
    .where('user_id', '=', userId)
    .orderBy('id')
    .forUpdate()
  const rows = await (ids ? logins.where('id', 'in', ids) : logins).execute()
  return new Map(rows.map(({ id, created_at }) => [id, created_at]))
}
