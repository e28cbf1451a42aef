import { ServiceError } from '../contract/errors.ts'
import type { Trx } from '../db/engine/database.ts'
import { holdLogin, type LoginKey } from '../db/tables/logins.ts'

/**
 * Every write of a session asks this in its own transaction: the session was checked before the body arrived, and may have
 * been signed out since. From here on the login cannot end before the transaction does.
 *
 * @throws ServiceError InvalidSession
 */
export async function demandLogin(trx: Trx, login: LoginKey): Promise<void> {
  if (!(await holdLogin(trx, login))) throw new ServiceError('InvalidSession')
}
