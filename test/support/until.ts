import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves once it holds, however long that takes: a busy machine is not a fault. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(1)
}
