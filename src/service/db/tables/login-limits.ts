import { quotas } from '../../../../generated/limits.ts'
import type { Trx } from '../engine/database.ts'
import type { LoginKey } from './logins.ts'

/** Per user. */
const { logins: maxLogins } = quotas
/** Session tokens per login. */
const maxSessions = 1000

/** Makes room for a new login by ending the user's oldest ones. Returns the ids of those that it ended. */
export async function endOldestLogins(trx: Trx, userId: string, newId: string): Promise<string[]> {
  const others = trx.selectFrom('logins').select('id').where('user_id', '=', userId).where('id', '<>', newId)
  const kept = others
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(maxLogins - 1)
  const ended = await trx
    .deleteFrom('logins')
    .where('user_id', '=', userId)
    .where('id', '<>', newId)
    .where('id', 'not in', kept)
    .returning('id')
    .execute()
  return ended.map(({ id }) => id)
}

/** Makes room for another session token of the login by deleting the oldest ones. */
export async function dropOldestSessions(trx: Trx, { userId, loginId }: LoginKey): Promise<void> {
  const sessions = trx
    .selectFrom('tokens')
    .select('hash')
    .where('user_id', '=', userId)
    .where('login_id', '=', loginId)
    .where('kind', '=', 'session')
  const kept = sessions
    .orderBy('issued_at', 'desc')
    .orderBy('hash')
    .limit(maxSessions - 1)
  await trx
    .deleteFrom('tokens')
    .where('user_id', '=', userId)
    .where('login_id', '=', loginId)
    .where('kind', '=', 'session')
    .where('hash', 'not in', kept)
    .execute()
}
