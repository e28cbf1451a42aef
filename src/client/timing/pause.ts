import type { Clock } from './clock.ts'

/** Waits until the time has passed, an alarm has rung, or the signal has aborted. */
export async function pause(clock: Clock, ms: number, alarms: Promise<void>[], signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  const elapsed = clock.sleep(ms, AbortSignal.any([signal, over.signal])).catch(() => {})
  await Promise.race([elapsed, ...alarms])
  over.abort('over')
}
