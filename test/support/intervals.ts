import { mock } from 'node:test'
import type { Test } from 'tap'

/**
 * Lets the intervals of what is started from now on run only when told to, by the seconds that pass. Other timers stay as
 * they are.
 */
export function holdIntervals(t: Pick<Test, 'teardown'>): (seconds: number) => void {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  return (seconds) => mock.timers.tick(seconds * 1000)
}
