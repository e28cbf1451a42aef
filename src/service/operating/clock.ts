import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { dayMs } from '../../protocol/order.ts'
import type { Database } from '../db/engine/database.ts'
import { type Heartbeat, lockHeartbeat, saveJudgement } from '../db/tables/heartbeat.ts'
import { commandLine } from '../terminal/command.ts'

/**
 * A clock that is set wrong would erase what is kept for a time. No other clock can tell: SQLite's is the process's own, and
 * Postgres' may be that of the same machine. So the witness is the last time at which the database was in use.
 */

/** A service that was off for less than this is nothing to ask about. */
const mostMs = 7 * dayMs
/** After so long a run, the clock is believed: if it is wrong, nobody cares. */
const trialMs = dayMs
const everyMs = 60_000
/** Between two judgements the service has run, unless they are further apart. Clocks that differ by less are about the same. */
const longestGapMs = 5 * everyMs

interface Parts {
  config: { keepVersionsDays: number }
  database: Pick<Database, 'write' | 'isUnavailable'>
  clock: () => number
  log: FastifyBaseLogger
}

export type ClockGuard = Awaited<ReturnType<typeof guardClock>>

/** Judges the clock at the start, before anything writes the time of this process, and every minute. */
export async function guardClock({ config, database, clock, log }: Parts) {
  const limitMs = Math.min(mostMs, (config.keepVersionsDays * dayMs) / 2)
  const stopping = new AbortController()
  let jumpMs = 0
  let lastUse = 0

  /** Judges the clock again. True if what is kept for a time may be erased. */
  async function isBelieved(): Promise<boolean> {
    const before = jumpMs
    const judgement = await database.write(async (trx) => {
      const judged = judge(await lockHeartbeat(trx), clock(), limitMs)
      await saveJudgement(trx, judged)
      return judged
    })
    lastUse = lastUseOf(judgement)
    const apart = judgement.judged_at - lastUse
    jumpMs = Math.abs(apart) > limitMs ? apart : 0
    if (jumpMs !== 0 && before === 0) log.error({ jumpMs }, describe(judgement))
    if (jumpMs === 0 && before !== 0) log.info('the clock is believed again: what has expired is erased')
    return jumpMs === 0
  }

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(everyMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      // The probe tells if something is wrong with the database.
      if (!stopping.signal.aborted) await isBelieved().catch(() => {})
    }
  }

  // Until it can be judged, nothing is swept, and reads go on.
  await isBelieved().catch((error: unknown) => {
    if (!database.isUnavailable(error)) throw error
    log.error({ err: error }, 'the clock could not be judged: the database takes no writes')
  })
  const watching = watch()
  return {
    isBelieved,
    /** How far the clock is ahead of when the database was last in use (ms), if it is not believed; otherwise 0. */
    jumpMs: () => jumpMs,
    /**
     * How far the time `at` of the clock is behind the last one of the database, to which the time is added for which the service
     * has run since (ms); 0 if it is not. What is kept for a time is kept that much longer, or it would be erased too early once
     * the clock is right. It is so for a day at most: perhaps the clock was ahead before.
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
  /** How long the service has run while the clock was not believed, or was behind; null if it is right. */
  doubted_ms: number | null
}

function lastUseOf({ believed_at, doubted_ms }: Pick<Judgement, 'believed_at' | 'doubted_ms'>): number {
  return believed_at + (doubted_ms ?? 0)
}

type Known = Pick<Heartbeat, 'believed_at' | 'judged_at' | 'doubted_ms'>

function judge(known: Known, now: number, limitMs: number): Judgement {
  const { believed_at, judged_at, doubted_ms: before } = lastJudged(known, now)
  const gap = now - judged_at
  const hasRun = before !== null && gap > 0 && gap <= longestGapMs
  const doubted_ms = (before ?? 0) + (hasRun ? gap : 0)
  const lastUse = lastUseOf({ believed_at, doubted_ms })
  if (now >= lastUse - longestGapMs && now <= lastUse + limitMs) return accepted(now)
  // It was set once more.
  if (gap < -longestGapMs || gap > limitMs) return { believed_at: lastUse, judged_at: now, doubted_ms: 0 }
  return doubted_ms >= trialMs ? accepted(now) : { believed_at, judged_at: now, doubted_ms }
}

/** A new database believes any clock. */
function lastJudged({ believed_at, judged_at, doubted_ms }: Known, now: number): Judgement {
  return believed_at === null || judged_at === null ? accepted(now) : { believed_at, judged_at, doubted_ms }
}

function accepted(now: number): Judgement {
  return { believed_at: now, judged_at: now, doubted_ms: null }
}

/** For an operator who has looked at the clock. Returns in words what has been accepted. */
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
