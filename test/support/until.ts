import { setTimeout as sleep } from 'node:timers/promises'

/** A busy machine is not a fault: nothing takes as long as this unless it never happens. */
const patienceMs = 300_000

/** Slow things are asked for less and less often, to leave the machine to it. */
const longestPauseMs = 50

/** Resolves once it holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMs
  for (let pauseMs = 1; !(await holds()); pauseMs = Math.min(pauseMs * 1.2, longestPauseMs)) {
    if (performance.now() > end) throw new Error(`it has not happened: ${holds}`)
    await sleep(pauseMs)
  }
}
