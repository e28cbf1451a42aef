import { CompiledQuery } from 'kysely'
import type { Attack } from './attack.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const [logins, tokensOfOne, devices] = [40_000, 3, 60_000]

/** How far the clock jumps. The service does not sweep if its clock and the database's are more than 60 s apart. */
const passedMs = 58_000
/** How soon the rows expire: they outlive the service's first sweep, but not the jump of the clock. */
const soonMs = 60_000

/** A module that Node loads before the service. On SIGUSR2, the clock jumps and the hourly timers fire. */
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

/** Many logins, tokens and devices expire at once, and the hourly sweep erases them. */
export const sweep: Attack = {
  settings: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(clock)}` },
  async seed({ database: { db } }, { userId }) {
    const soon = Date.now() + soonMs
    for (const statement of statementsOf(userId, soon)) await db.executeQuery(CompiledQuery.raw(statement))
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

function statementsOf(user: string, expiresAt: number): string[] {
  const series = (count: number) => `with recursive
    numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})`
  return [
    `insert into logins (id, user_id, checked_at, created_at, user_agent, last_used_at) ${series(logins)}
      select 'swept-' || n, '${user}', 0, 0, '', 0 from numbers`,
    `insert into tokens (hash, kind, user_id, login_id, issued_at, expires_at) ${series(logins * tokensOfOne)}
      select 'swept-' || n, 'session', '${user}', 'swept-' || (1 + n % ${logins}), 0, ${expiresAt} from numbers`,
    `insert into devices (user_id, device_id, cursor, last_sync) ${series(devices)}
      select '${user}', 'swept-' || n, 0, ${expiresAt - 400 * dayMs} from numbers`,
  ]
}
