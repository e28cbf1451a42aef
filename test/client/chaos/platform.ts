import { counted, turns } from '../sync/turns.ts'

/**
 * Makes the engine's pauses in long work the same in every run: after a few items each, however fast the machine is, and
 * for one turn of the event loop.
 */
export function makePausesRepeatable(): void {
  let time = performance.now()
  performance.now = () => (time += readingMs)
  globalThis.MessageChannel = TurnChannel as unknown as typeof MessageChannel
  // A killed tab would keep the lock of all devices' refreshes, because they share this process.
  Object.defineProperty(navigator, 'locks', { value: undefined })
}

/** How much later each reading of the clock is. */
const readingMs = 2

class TurnChannel {
  readonly port1 = { onmessage: () => {}, close() {} }
  readonly port2 = {
    postMessage: () => {
      void counted(async () => {
        await turns(1)
        this.port1.onmessage()
      })
    },
  }
}
