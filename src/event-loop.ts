import { setImmediate as eventLoopTurn } from 'node:timers/promises'

/** A request has a few turns of the loop: even together, they are below what a person notices. */
const maxHeldMs = 10

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
