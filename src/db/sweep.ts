import type { Context } from '../context.ts'
import { sweepExports } from '../exports/sweep.ts'
import type { Database } from './database.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const deviceMs = 400 * dayMs
const rejectionMs = 90 * dayMs

type Parts = Pick<Context, 'database' | 'objects' | 'clock' | 'log'>

/** At the start and then hourly: what is past its bounds goes. */
export function startSweeps(parts: Parts): { close(): Promise<void> } {
  const run = async () => {
    try {
      await sweepRows(parts.database, parts.clock())
      await sweepExports(parts)
    } catch (error) {
      parts.log.error({ err: error }, 'the sweep failed')
    }
  }
  let running = run()
  const timer = setInterval(() => {
    running = run()
  }, hourMs).unref()
  return {
    async close() {
      clearInterval(timer)
      await running
    },
  }
}

/** Expired tokens, logins without a token, devices not seen for 400 days, rejections older than 90 days. */
export async function sweepRows({ write }: Database, now: number): Promise<void> {
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
