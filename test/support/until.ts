import { setTimeout as sleep } from 'node:timers/promises'

/** A long limit, so that a busy machine does not fail a test. */
const limitMs = 300_000

/** Checks become less frequent up to this pause, to leave the machine time for the work. */
const longestPauseMs = 50

/** Resolves when the condition holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + limitMs
  for (let pauseMs = 1; !(await holds()); pauseMs = Math.min(pauseMs * 1.2, longestPauseMs)) {
    if (performance.now() > end) throw new Error(`the condition did not hold in time: ${holds}`)
    await sleep(pauseMs)
  }
}
