import type { RealtimeSocket } from '../../../src/client/sync/exchange/transport.ts'

/** A realtime channel whose service is the test. */
export class TestSocket extends EventTarget implements RealtimeSocket {
  /** Up to which stamp the service has sent. */
  cursor: number
  isOpen = true
  /** What the engine sent. */
  readonly sent: string[] = []

  readonly #epoch: () => string

  /** @param epoch of the service when it greets */
  constructor(since: number, epoch: () => string) {
    super()
    this.cursor = since
    this.#epoch = epoch
  }

  send(data: string): void {
    this.sent.push(data)
  }

  close(code = 1000): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.dispatchEvent(new CloseEvent('close', { code }))
  }

  greet(timestamp: number, epoch = this.#epoch()): void {
    this.say({ type: 'connected', deviceId: '', timestamp, epoch })
  }

  say(message: object): void {
    if (this.isOpen) this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(message) }))
  }
}
