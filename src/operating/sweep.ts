import type { Database } from '../db/database.ts'
import { rowSweeps } from '../db/sweep.ts'
import { type ExportSweepParts, exportSweeps } from '../exports/sweep.ts'
import { describeDrift, isTooFar, readDriftMs } from './clock-drift.ts'

const hourMs = 3_600_000
const sweeps = { ...rowSweeps, ...exportSweeps }

export interface SweepParts extends ExportSweepParts {
  database: ExportSweepParts['database'] & Pick<Database, 'exclusively' | 'now'>
}

/** Removes what has expired, at the start and then hourly, on one instance at a time. */
export function startSweeps(parts: SweepParts): { close(): Promise<void> } {
  const stop = new AbortController()

  async function sweepAll(): Promise<void> {
    const driftMs = await readDriftMs(parts.database)
    if (isTooFar(driftMs)) throw new Error(describeDrift(driftMs))
    // One that fails leaves the others to do their work.
    for (const [name, sweep] of Object.entries(sweeps)) {
      await sweep(parts, stop.signal).catch((err) => parts.log.error({ err, sweep: name }, 'a sweep failed'))
    }
  }

  async function run(): Promise<void> {
    await parts.database
      .exclusively('sweep', sweepAll)
      .catch((err) => parts.log.error({ err }, 'the sweeps could not be run'))
  }

  let running = run()
  const timer = setInterval(() => {
    running = running.then(run)
  }, hourMs).unref()
  return {
    async close() {
      clearInterval(timer)
      stop.abort()
      await running
    },
  }
}
