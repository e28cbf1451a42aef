import { setImmediate as eventLoopTurn } from 'node:timers/promises'

/** Lets everything happen that waits for nothing from outside. */
export async function turns(count = 2): Promise<void> {
  for (let turn = 0; turn < count; turn++) await eventLoopTurn()
}

let underWay = 0

/** Counts the work as under way, for `settled`. */
export async function counted<T>(work: () => Promise<T>): Promise<T> {
  underWay++
  return work().finally(() => underWay--)
}

/** Lets everything happen that waits for no time to pass: calls that are under way come to their end. */
export async function settled(): Promise<void> {
  do await turns()
  while (underWay > 0)
}

/** Waits until it holds; the test's own time limit ends it. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await eventLoopTurn()
}
