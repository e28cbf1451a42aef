import type { Database } from '../db/engine/database.ts'
import { hasExpiredPairing } from '../db/tables/pairings.ts'
import type { ClockGuard } from '../operating/clock.ts'
import { findClockFault } from '../operating/health.ts'
import type { LimitsGuard } from '../operating/limits-guard.ts'
import type { Metrics } from '../operating/metrics.ts'
import { accountSweeps, type ErasureParts } from './erasure.ts'
import { type ExportSweepParts, exportSweeps } from './exports.ts'
import { rowSweeps } from './rows.ts'
import { UnfinishedSweep } from './unfinished-sweep.ts'
import { type VersionSweepParts, versionSweeps } from './versions.ts'

const hourMs = 3_600_000
const minuteMs = 60_000
const sweeps = { ...rowSweeps, ...accountSweeps, ...versionSweeps, ...exportSweeps }

export interface SweepParts extends ExportSweepParts, VersionSweepParts, ErasureParts {
  objects: ExportSweepParts['objects']
  database: ExportSweepParts['database'] & VersionSweepParts['database'] & Pick<Database, 'db' | 'exclusively' | 'now'>
  metrics: Pick<Metrics, 'countSweep' | 'countFailedSweep'>
  clockGuard: Pick<ClockGuard, 'isBelieved'>
  limitsGuard: Pick<LimitsGuard, 'judge' | 'isKnown'>
}

export interface Sweeps {
  /** Resolves after the first sweep. */
  first: Promise<void>
  close(): Promise<void>
}

/**
 * Removes expired data at the start and then hourly, on one instance at a time. Expired pairings are removed every
 * minute, even while the clock is in doubt, because losing one does no harm.
 */
export function startSweeps(parts: SweepParts): Sweeps {
  const stop = new AbortController()

  async function sweepAll(): Promise<void> {
    const fault = await findClockFault(parts.database)
    if (fault !== undefined) throw new Error(fault)
    // Sweeps may take minutes, in which the clock may be set, so they use the time that was judged.
    const now = parts.clock()
    // The guard has logged the reason.
    if (!(await parts.clockGuard.isBelieved()) || !parts.limitsGuard.isKnown()) return
    const atNow = { ...parts, clock: () => now }
    // If a sweep fails, the others still run.
    for (const [name, sweep] of Object.entries(sweeps)) {
      await count(name, sweep(atNow, stop.signal))
    }
  }

  async function count(name: string, sweep: Promise<number>): Promise<void> {
    try {
      parts.metrics.countSweep(name, await sweep)
    } catch (err) {
      if (err instanceof UnfinishedSweep) parts.metrics.countSweep(name, err.removed)
      parts.log.error({ err, sweep: name }, 'a sweep failed')
      parts.metrics.countFailedSweep(name)
    }
  }

  async function run(): Promise<void> {
    // On every instance, because each enforces the limits.
    await parts.limitsGuard.judge().catch((err) => parts.log.error({ err }, 'the limits could not be judged'))
    await parts.database.exclusively('sweep', sweepAll).catch((err) => {
      parts.log.error({ err }, 'the sweeps could not be run')
      for (const name of Object.keys(sweeps)) parts.metrics.countFailedSweep(name)
    })
  }

  async function sweepPairings(): Promise<void> {
    try {
      // Checks first, because a write would wake up the disk of an idle machine.
      if (!(await hasExpiredPairing(parts.database.db, parts.clock()))) return
    } catch {
      // The hourly sweep reports a database fault.
      return
    }
    await count('pairings', rowSweeps.pairings(parts, stop.signal))
  }

  for (const name of Object.keys(sweeps)) parts.metrics.countSweep(name, 0)
  const first = run()
  let running = first
  const timer = setInterval(() => {
    running = running.then(run)
  }, hourMs).unref()
  let pairings = Promise.resolve()
  const pairingTimer = setInterval(() => {
    pairings = pairings.then(sweepPairings)
  }, minuteMs).unref()
  return {
    first,
    async close() {
      clearInterval(timer)
      clearInterval(pairingTimer)
      stop.abort()
      await Promise.all([running, pairings])
    },
  }
}
