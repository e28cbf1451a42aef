import type { Database, Trx } from './database.ts'

const dayMs = 86_400_000
const deviceMs = 400 * dayMs
const rejectionMs = 90 * dayMs
/** Rows of a transaction. It takes some milliseconds, and users' writes get in before the next. */
const batchRows = 500

interface Parts {
  database: Pick<Database, 'write'>
  clock: () => number
}

/** Each deletes what is too old, oldest first, until nothing is left or it is stopped. */
export const rowSweeps = {
  tokens: inBatches(deleteTokens),
  devices: inBatches(deleteDevices),
  rejections: inBatches(deleteRejections),
  nonces: inBatches(deleteNonces),
}

function inBatches(deleteBatch: (trx: Trx, now: number) => Promise<number>) {
  return async ({ database, clock }: Parts, stop: AbortSignal): Promise<void> => {
    const now = clock()
    for (let deleted = batchRows; deleted >= batchRows && !stop.aborted; )
      deleted = await database.write((trx) => deleteBatch(trx, now))
  }
}

/** Expired tokens, and the logins that have lost their last one. */
async function deleteTokens(trx: Trx, now: number): Promise<number> {
  const oldest = trx.selectFrom('tokens').select('hash').where('expires_at', '<=', now).orderBy('expires_at')
  const deleted = await trx
    .deleteFrom('tokens')
    .where('hash', 'in', oldest.limit(batchRows))
    .where('expires_at', '<=', now)
    .returning('login_id')
    .execute()
  const loginIds = [...new Set(deleted.map(({ login_id }) => login_id))]
  if (loginIds.length > 0) {
    await trx
      .deleteFrom('logins')
      .where('id', 'in', loginIds)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('tokens').select('hash').whereRef('tokens.login_id', '=', 'logins.id'))),
      )
      .execute()
  }
  return deleted.length
}

/** Nonces of completed sign-ins whose attempts have expired. */
async function deleteNonces(trx: Trx, now: number): Promise<number> {
  const oldest = trx.selectFrom('used_nonces').select('nonce').where('expires_at', '<=', now).orderBy('expires_at')
  const { numDeletedRows } = await trx
    .deleteFrom('used_nonces')
    .where('nonce', 'in', oldest.limit(batchRows))
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Devices not seen for 400 days. */
async function deleteDevices(trx: Trx, now: number): Promise<number> {
  const end = now - deviceMs
  const { numDeletedRows } = await trx
    .deleteFrom('devices')
    .where(({ eb, refTuple, selectFrom }) => {
      const oldest = selectFrom('devices').select(['user_id', 'device_id']).where('last_sync', '<', end)
      const batch = oldest.orderBy('last_sync').limit(batchRows)
      return eb(refTuple('user_id', 'device_id'), 'in', batch.$asTuple('user_id', 'device_id'))
    })
    .where('last_sync', '<', end)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Rejections older than 90 days. */
async function deleteRejections(trx: Trx, now: number): Promise<number> {
  const end = now - rejectionMs
  const { numDeletedRows } = await trx
    .deleteFrom('rejections')
    .where(({ eb, refTuple, selectFrom }) => {
      const oldest = selectFrom('rejections').select(['user_id', 'entity_type', 'entity_id'])
      const batch = oldest.where('created_at', '<', end).orderBy('created_at').limit(batchRows)
      const key = refTuple('user_id', 'entity_type', 'entity_id')
      return eb(key, 'in', batch.$asTuple('user_id', 'entity_type', 'entity_id'))
    })
    .where('created_at', '<', end)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
