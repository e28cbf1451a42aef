import { createHash } from 'node:crypto'
import { counted, turns } from '../sync/turns.ts'

/**
 * Makes the engine's pauses in long work the same in every run: after a few items each, however fast the machine is, and
 * for one turn of the event loop. So are those for a hash, which would otherwise come from another thread.
 */
export function makePausesRepeatable(): void {
  let time = performance.now()
  performance.now = () => (time += readingMs)
  globalThis.MessageChannel = TurnChannel as unknown as typeof MessageChannel
  crypto.subtle.digest = hashInTurn
  Request.prototype.clone = cloneThatHears
  // A killed tab would keep the lock of all devices' refreshes, because they share this process.
  Object.defineProperty(navigator, 'locks', { value: undefined })
}

/** How much later each reading of the clock is. */
const readingMs = 2

const hashInTurn: typeof crypto.subtle.digest = (_algorithm, bytes) =>
  counted(async () => {
    await turns(1)
    const hash = createHash('sha256').update(bytes as Uint8Array)
    return new Uint8Array(hash.digest()).buffer
  })

const { clone } = Request.prototype

/** As in browsers. Node's own hears of no abort any more once memory was cleaned up. */
function cloneThatHears(this: Request): Request {
  return new Request(clone.call(this), { signal: this.signal })
}

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
