import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { dayMs } from '../../protocol/order.ts'
import type { Database } from '../db/engine/database.ts'
import { type Heartbeat, lockHeartbeat, saveJudgement } from '../db/tables/heartbeat.ts'
import { commandLine } from '../terminal/command.ts'

/**
 * Guards against a wrong clock, which would erase data too early. No other clock can be asked: SQLite's is the
 * process's own, and Postgres' may be the same machine's. So the clock is compared with the last time when the database
 * was in use.
 */

/** If the service was off for less than this (ms), its clock is trusted. */
function trustedGapMs({ keepVersionsDays }: { keepVersionsDays: number }): number {
  return Math.min(7, keepVersionsDays / 2) * dayMs
}

/** After running for this long (ms), the clock is trusted: if it were wrong, somebody would have noticed. */
const trialMs = dayMs
const everyMs = 60_000
/** The longest gap between two judgements of a running service. Clocks that differ by less count as equal. */
const longestGapMs = 5 * everyMs

interface Parts {
  config: { keepVersionsDays: number }
  database: Pick<Database, 'write' | 'isUnavailable'>
  clock: () => number
  log: FastifyBaseLogger
}

export type ClockGuard = Awaited<ReturnType<typeof guardClock>>

/** Judges the clock at the start, before requests and sweeps can write a time, and then every minute. */
export async function guardClock({ config, database, clock, log }: Parts) {
  const limitMs = trustedGapMs(config)
  const stopping = new AbortController()
  let jumpMs = 0
  let lastUse = 0

  /** Judges the clock again. True if expired data may be erased. */
  async function isBelieved(): Promise<boolean> {
    const before = jumpMs
    const judgement = await database.write(async (trx) => {
      const judged = judge(await lockHeartbeat(trx), clock(), limitMs)
      await saveJudgement(trx, judged)
      return judged
    })
    lastUse = lastUseOf(judgement)
    jumpMs = jumpOf(judgement, limitMs)
    if (jumpMs !== 0 && before === 0) log.error({ jumpMs }, describe(judgement))
    if (jumpMs === 0 && before !== 0) log.info('the clock is believed again: what has expired is erased')
    return jumpMs === 0
  }

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(everyMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      // The probe reports faults of the database.
      if (!stopping.signal.aborted) await isBelieved().catch(() => {})
    }
  }

  // Until the clock can be judged, nothing is swept, but reads work.
  await isBelieved().catch((error: unknown) => {
    if (!database.isUnavailable(error)) throw error
    log.error({ err: error }, 'the clock could not be judged: the database takes no writes')
  })
  const watching = watch()
  return {
    isBelieved,
    /** How far the clock is ahead of the database's last use (ms), or behind it (negative); 0 while it is trusted. */
    jumpMs: () => jumpMs,
    /**
     * How far the time `at` is behind the database's last use plus the service's running time since (ms); 0 if it is
     * not. Data is kept that much longer, because otherwise it would be erased too early once the clock is right. This
     * lasts for a day at most: the clock may have been ahead before.
     */
    behindMs: (at: number) => Math.max(0, lastUse - at),
    async close(): Promise<void> {
      stopping.abort()
      await watching
    },
  }
}

interface Judgement {
  believed_at: number
  judged_at: number
  /** How long (ms) the service has run while the clock was not trusted, or was behind; null if it is right. */
  doubted_ms: number | null
}

function lastUseOf({ believed_at, doubted_ms }: Pick<Judgement, 'believed_at' | 'doubted_ms'>): number {
  return believed_at + (doubted_ms ?? 0)
}

/** How far the clock is ahead of the last use (ms), or behind it (negative); 0 while it is trusted. */
function jumpOf(judgement: Judgement, limitMs: number): number {
  const apart = judgement.judged_at - lastUseOf(judgement)
  return Math.abs(apart) > limitMs ? apart : 0
}

/** Judges the clock as a running service or the next start would. Undefined if they trust it. */
export function findDoubt(known: Known, now: number, config: { keepVersionsDays: number }) {
  const limitMs = trustedGapMs(config)
  const judgement = judge(known, now, limitMs)
  const jumpMs = jumpOf(judgement, limitMs)
  return jumpMs === 0 ? undefined : { jumpMs, says: describe(judgement) }
}

type Known = Pick<Heartbeat, 'believed_at' | 'judged_at' | 'doubted_ms'>

function judge(known: Known, now: number, limitMs: number): Judgement {
  const { believed_at, judged_at, doubted_ms: before } = lastJudged(known, now)
  const gap = now - judged_at
  const hasRun = before !== null && gap > 0 && gap <= longestGapMs
  const doubted_ms = (before ?? 0) + (hasRun ? gap : 0)
  const lastUse = lastUseOf({ believed_at, doubted_ms })
  if (now >= lastUse - longestGapMs && now <= lastUse + limitMs) return accepted(now)
  // The clock was set, so the time in which it is doubted starts again.
  if (gap < -longestGapMs || gap > limitMs) return { believed_at: lastUse, judged_at: now, doubted_ms: 0 }
  return doubted_ms >= trialMs ? accepted(now) : { believed_at, judged_at: now, doubted_ms }
}

/** A new database trusts any clock. */
function lastJudged({ believed_at, judged_at, doubted_ms }: Known, now: number): Judgement {
  return believed_at === null || judged_at === null ? accepted(now) : { believed_at, judged_at, doubted_ms }
}

function accepted(now: number): Judgement {
  return { believed_at: now, judged_at: now, doubted_ms: null }
}

/** Trusts the clock at an operator's request. Returns a description of what was accepted. */
export async function acceptClock({ write }: Pick<Database, 'write'>): Promise<string> {
  const now = Date.now()
  return write(async (trx) => {
    const known = lastJudged(await lockHeartbeat(trx), now)
    await saveJudgement(trx, accepted(now))
    return compare(now, lastUseOf(known))
  })
}

function describe(judgement: Judgement): string {
  const said = compare(judgement.judged_at, lastUseOf(judgement))
  return `${said}: nothing is erased by age until the service has run for a day, or until ${commandLine('admin', 'accept-clock')}`
}

function compare(now: number, lastUse: number): string {
  const [says, last] = [now, lastUse].map((ms) => new Date(ms).toISOString())
  const days = (Math.abs(now - lastUse) / dayMs).toFixed(1)
  return `the clock says ${says}, ${days} days ${now >= lastUse ? 'after' : 'before'} this database was last in use (${last})`
}
