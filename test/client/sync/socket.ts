import type { RealtimeSocket } from '../../../src/client/sync/exchange/transport.ts'

/** A realtime channel whose service is the test. */
export class TestSocket extends EventTarget implements RealtimeSocket {
  /** Up to which stamp the service has sent. */
  cursor: number
  isOpen = true
  /** What the engine sent. */
  readonly sent: string[] = []

  constructor(since: number) {
    super()
    this.cursor = since
  }

  send(data: string): void {
    this.sent.push(data)
  }

  close(code = 1000): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.dispatchEvent(new CloseEvent('close', { code }))
  }

  greet(timestamp: number): void {
    this.say({ type: 'connected', deviceId: '', timestamp })
  }

  say(message: object): void {
    if (this.isOpen) this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(message) }))
  }
}
