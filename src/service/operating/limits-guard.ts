import type { FastifyBaseLogger } from 'fastify'
import { dayMs } from '../../protocol/order.ts'
import type { Config } from '../config/config.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { findLimitsInForce, type LimitInForce, saveLimitInForce } from '../db/tables/limits-in-force.ts'
import { commandLine } from '../terminal/command.ts'
import type { ClockGuard } from './clock.ts'
import { despiteDamage } from './damage.ts'

/**
 * Guards smaller limits, which erase data for good and may be a mistake. A smaller limit only takes effect once the log
 * has announced it for a day, or an operator has accepted it. A larger limit takes effect at once.
 */

const properties = { KEEP_VERSIONS_DAYS: 'keepVersionsDays', MAX_USER_BYTES: 'maxUserBytes' } as const

type Variable = keyof typeof properties
type Limits = Pick<Config, (typeof properties)[Variable]>

const variables = Object.keys(properties) as Variable[]

/** How long a smaller limit is announced (ms). */
const announcedMs = dayMs

interface Parts {
  config: Config
  database: Pick<Database, 'db' | 'write' | 'isUnavailable'>
  clockGuard: Pick<ClockGuard, 'jumpMs' | 'behindMs'>
  clock: () => number
  log: FastifyBaseLogger
}

export type LimitsGuard = Awaited<ReturnType<typeof guardLimits>>

export async function guardLimits({ config, database, clockGuard, clock, log }: Parts) {
  const inForce = { keepVersionsDays: config.keepVersionsDays, maxUserBytes: config.maxUserBytes }
  const smaller = await despiteDamage({ database, log }, 'the limits in force', () => listSmaller(database.db, config))
  for (const { variable, value } of smaller ?? []) inForce[properties[variable]] = value
  let isKnown = smaller !== undefined

  /** Puts announced limits into force, and logs the smaller ones that wait. */
  async function judge(): Promise<void> {
    const known = await findLimitsInForce(database.db)
    isKnown = true
    const now = clock()
    // Otherwise an announcement dated by a slow clock would look old once the clock is right.
    const at = now + clockGuard.behindMs(now)
    for (const variable of variables) {
      const before = known.find((each) => each.variable === variable)
      const configured = config[properties[variable]]
      const judged = judgeLimit({ variable, configured, before, at, isClockBelieved: clockGuard.jumpMs() === 0 })
      if (judged !== before) await database.write((trx) => saveLimitInForce(trx, judged))
      inForce[properties[variable]] = judged.value
      if (judged.announced_at !== null) log.warn(announce(judged, configured, judged.announced_at))
      else if (before && judged.value < before.value)
        log.warn(`${variable} is ${judged.value} from now on: what is beyond it is erased for good`)
    }
  }

  return {
    judge,
    /** False if damage hides which limits are in force, so that nothing may be erased by age. */
    isKnown: () => isKnown,
    /** The configuration with the limits in force, kept up to date. */
    config: Object.freeze({
      ...config,
      get keepVersionsDays() {
        return inForce.keepVersionsDays
      },
      get maxUserBytes() {
        return inForce.maxUserBytes
      },
    }),
  }
}

interface Judged {
  variable: Variable
  configured: number
  /** Undefined in a new database. */
  before: LimitInForce | undefined
  at: number
  isClockBelieved: boolean
}

/** Returns `before` itself if nothing has changed. */
function judgeLimit({ variable, configured, before, at, isClockBelieved }: Judged): LimitInForce {
  const accepted = unannounced(variable, configured)
  if (!before || configured > before.value) return accepted
  if (configured === before.value) return before.announced === null ? before : accepted
  if (before.announced !== configured || before.announced_at === null)
    return { ...before, announced: configured, announced_at: at }
  return isClockBelieved && at >= before.announced_at + announcedMs ? accepted : before
}

function unannounced(variable: Variable, value: number): LimitInForce {
  return { variable, value, announced: null, announced_at: null }
}

function announce({ variable, value }: LimitInForce, configured: number, since: number): string {
  const until = new Date(since + announcedMs).toISOString()
  return `${variable} is ${configured}, less than the ${value} so far, which stay in force until ${until}. After that, what is beyond it is erased for good: ${commandLine('doctor')} counts it. To keep it, set ${variable}=${value}; to erase it earlier, run ${commandLine('admin', 'accept-limits --yes')}`
}

/** A limit in force that the configuration makes smaller. */
export interface SmallerLimit extends LimitInForce {
  variable: Variable
  configured: number
  /** When it takes effect (Unix ms), if it is announced. */
  until: number | undefined
}

export async function listSmaller(db: Db, config: Limits): Promise<SmallerLimit[]> {
  return smallerThan(await findLimitsInForce(db), ({ variable }) => config[properties[variable]])
}

/** The limits that the running service has announced. The environment of this process does not matter. */
export async function listAnnounced(db: Db): Promise<SmallerLimit[]> {
  return smallerThan(await findLimitsInForce(db), ({ announced, value }) => announced ?? value)
}

function smallerThan(
  known: LimitInForce[],
  configuredOf: (limit: LimitInForce & { variable: Variable }) => number,
): SmallerLimit[] {
  return known.flatMap((limit) => {
    const variable = variables.find((each) => each === limit.variable)
    if (variable === undefined) return []
    const configured = configuredOf({ ...limit, variable })
    if (configured >= limit.value) return []
    const isAnnounced = limit.announced === configured && limit.announced_at !== null
    return [
      { ...limit, variable, configured, until: isAnnounced ? (limit.announced_at ?? 0) + announcedMs : undefined },
    ]
  })
}

/** Puts these limits into force at once. */
export async function acceptLimits({ write }: Pick<Database, 'write'>, smaller: SmallerLimit[]): Promise<void> {
  for (const { variable, configured } of smaller)
    await write((trx) => saveLimitInForce(trx, unannounced(variable, configured)))
}
