import { setTimeout as sleep } from 'node:timers/promises'

/** A busy machine is not a fault: nothing takes as long as this unless it never happens. */
const patienceMs = 300_000

/** Resolves once it holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`it has not happened: ${holds}`)
    await sleep(1)
  }
}
