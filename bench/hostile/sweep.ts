import { v7 as uuidv7 } from 'uuid'
import type { Context } from '../../src/service/context.ts'
import type { Person } from './accounts.ts'
import type { Attack } from './attack.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const [logins, tokensOfOne, devices, rejections] = [40_000, 3, 60_000, 60_000]
const batch = 1_000

/** Less than the difference to the database's clock at which the service would sweep nothing. */
const passedMs = 58_000
/** Later than the sweep at the start, and passed when the signal comes. */
const soonMs = 60_000

/** Imported before the service: time passes when it gets a signal, and the timers of an hour are due. */
const clock = `
const due = []
for (const name of ['setInterval', 'setTimeout']) {
  const original = globalThis[name]
  globalThis[name] = (call, ms, ...rest) => {
    if (ms >= ${hourMs} / 2 && ms <= ${2 * hourMs}) due.push(call)
    return original(call, ms, ...rest)
  }
}
const now = Date.now
let passed = 0
Date.now = () => now() + passed
process.once('SIGUSR2', () => {
  passed = ${passedMs}
  for (const call of due) call()
})
`

/** Many rows expire at once, and the hourly sweep removes them. */
export const sweep: Attack = {
  settings: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(clock)}` },
  async seed(context, attacker) {
    const soon = Date.now() + soonMs
    await storeLogins(context, attacker, soon)
    await storeDevices(context, attacker, soon)
    await storeRejections(context, attacker, soon)
  },
  async run({ pid }) {
    process.kill(pid, 'SIGUSR2')
  },
  async complaint({ database: { db } }) {
    const { left } = await db
      .selectFrom('tokens')
      .select(({ fn }) => fn.countAll<number>().as('left'))
      .executeTakeFirstOrThrow()
    return Number(left) < logins * tokensOfOne ? undefined : 'the sweep removed nothing'
  },
}

async function storeLogins({ database }: Context, { userId: user_id }: Person, expires_at: number): Promise<void> {
  for (let done = 0; done < logins; done += batch) {
    const rows = Array.from({ length: batch }, () => ({ id: uuidv7(), user_id, checked_at: 0, created_at: 0 }))
    const tokens = rows.flatMap(({ id: login_id }) =>
      Array.from({ length: tokensOfOne }, () => ({ hash: uuidv7(), kind: 'session' as const, login_id })),
    )
    await database.write(async (trx) => {
      await trx.insertInto('logins').values(rows).execute()
      await trx
        .insertInto('tokens')
        .values(tokens.map((token) => ({ ...token, user_id, issued_at: 0, expires_at })))
        .execute()
    })
  }
}

async function storeDevices({ database }: Context, { userId: user_id }: Person, expiresAt: number): Promise<void> {
  const last_sync = expiresAt - 400 * dayMs
  for (let done = 0; done < devices; done += batch) {
    const rows = Array.from({ length: batch }, () => ({ user_id, device_id: uuidv7(), cursor: 0, last_sync }))
    await database.write((trx) => trx.insertInto('devices').values(rows).execute())
  }
}

async function storeRejections({ database }: Context, { userId: user_id }: Person, expiresAt: number): Promise<void> {
  const common = { user_id, entity_type: 'bookmark', device_id: 'old', winner_stamp: 1 } as const
  const created_at = expiresAt - 90 * dayMs
  for (let done = 0; done < rejections; done += batch) {
    const rows = Array.from({ length: batch }, () => ({ ...common, entity_id: uuidv7(), created_at }))
    await database.write((trx) => trx.insertInto('rejections').values(rows).execute())
  }
}
