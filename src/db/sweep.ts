import type { Database } from './database.ts'

const dayMs = 86_400_000
const deviceMs = 400 * dayMs
const rejectionMs = 90 * dayMs

/** Deletes expired tokens, logins without a token, devices not seen for 400 days, rejections older than 90 days. */
export async function sweepRows({ write }: Pick<Database, 'write'>, now: number): Promise<void> {
  await write(async (trx) => {
    await trx.deleteFrom('tokens').where('expires_at', '<=', now).execute()
    await trx
      .deleteFrom('logins')
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('tokens').select('hash').whereRef('tokens.login_id', '=', 'logins.id'))),
      )
      .execute()
    await trx
      .deleteFrom('devices')
      .where('last_sync', '<', now - deviceMs)
      .execute()
    await trx
      .deleteFrom('rejections')
      .where('created_at', '<', now - rejectionMs)
      .execute()
  })
}
