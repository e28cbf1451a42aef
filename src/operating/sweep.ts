import { sweepRows } from '../db/sweep.ts'
import { type ExportSweepParts, sweepExports } from '../exports/sweep.ts'

const hourMs = 3_600_000

/** Removes what has expired, at the start and then hourly. */
export function startSweeps(parts: ExportSweepParts): { close(): Promise<void> } {
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
