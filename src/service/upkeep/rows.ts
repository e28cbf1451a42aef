import { sql } from 'kysely'
import { dayMs } from '../../protocol/order.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import type { Schema } from '../db/schema.ts'

/** Devices that have not synced for this many days are removed, whatever is configured. */
export const deviceDays = 400
/** Rows per transaction, so that it takes only some milliseconds, and users' writes get in between. */
const batchRows = 500

interface Parts {
  config: { keepVersionsDays: number }
  database: Pick<Database, 'write'>
  clock: () => number
}

/** Each sweep deletes rows that are too old, oldest first, until none is left or it is stopped. Returns how many. */
export const rowSweeps = {
  tokens: inBatches(deleteTokens),
  devices: inBatches(deleteOldest('devices', ['user_id', 'device_id'], 'last_sync', (now) => now - deviceDays * dayMs)),
  /** Keyrings that were replaced longer ago than versions are kept. */
  keyrings: inBatches(
    deleteOldest('keyring_versions', ['user_id', 'id'], 'replaced_at', (now, { keepVersionsDays }) => {
      return now - keepVersionsDays * dayMs + 1
    }),
  ),
  /** Pairings whose last message has expired. */
  pairings: inBatches(deleteOldest('pairings', ['user_id'], 'expires_at', (now) => now + 1)),
  /** Nonces of completed sign-ins whose attempts have expired. */
  nonces: inBatches(deleteOldest('used_nonces', ['nonce'], 'expires_at', (now) => now + 1)),
}

function inBatches(deleteBatch: (trx: Trx, now: number, config: Parts['config']) => Promise<number>) {
  return async ({ config, database, clock }: Parts, stop: AbortSignal): Promise<number> => {
    const now = clock()
    let total = 0
    for (let deleted = batchRows; deleted >= batchRows && !stop.aborted; total += deleted)
      deleted = await database.write((trx) => deleteBatch(trx, now, config))
    return total
  }
}

/** Deletes a batch of expired tokens, and those of their logins that have no other token. Returns how many tokens. */
async function deleteTokens(trx: Trx, now: number): Promise<number> {
  const oldest = trx.selectFrom('tokens').select(['user_id', 'hash']).where('expires_at', '<=', now)
  const deleted = await trx
    .deleteFrom('tokens')
    .where(
      ({ refTuple }) =>
        sql<boolean>`${refTuple('user_id', 'hash')} in ${oldest.orderBy('expires_at').limit(batchRows)}`,
    )
    .where('expires_at', '<=', now)
    .returning(['user_id', 'login_id'])
    .execute()
  const userIds = [...new Set(deleted.map(({ user_id }) => user_id))]
  const loginIds = [...new Set(deleted.map(({ login_id }) => login_id))]
  if (loginIds.length > 0) {
    await trx
      .deleteFrom('logins')
      .where('user_id', 'in', userIds)
      .where('id', 'in', loginIds)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('tokens')
              .select('hash')
              .whereRef('tokens.user_id', '=', 'logins.user_id')
              .whereRef('tokens.login_id', '=', 'logins.id'),
          ),
        ),
      )
      .execute()
  }
  return deleted.length
}

/** Makes a function that deletes a batch of rows whose time is before `endAt`, by its index, and returns how many. */
function deleteOldest<T extends keyof Schema & string>(
  table: T,
  key: (keyof Schema[T] & string)[],
  time: keyof Schema[T] & string,
  endAt: (now: number, config: Parts['config']) => number,
) {
  const keys = sql.join(key.map((column) => sql.ref(column)))
  return async (trx: Trx, now: number, config: Parts['config']): Promise<number> => {
    const isOver = sql`${sql.ref(time)} < ${endAt(now, config)}`
    const oldest = sql`select ${keys} from ${sql.table(table)} where ${isOver} order by ${sql.ref(time)} limit ${batchRows}`
    const { numAffectedRows } =
      await sql`delete from ${sql.table(table)} where (${keys}) in (${oldest}) and ${isOver}`.execute(trx)
    return Number(numAffectedRows)
  }
}
