import { setImmediate as eventLoopTurn } from 'node:timers/promises'

/** Far below what a person notices, and long enough that the turns between cost nothing. */
const maxHeldMs = 25

/** For long loops: awaiting what it returns lets the event loop turn, once the loop has held it for long enough. */
export function createPause(): () => Promise<void> | undefined {
  let begun = performance.now()
  return () => {
    if (performance.now() - begun < maxHeldMs) return undefined
    return eventLoopTurn().then(() => {
      begun = performance.now()
    })
  }
}
