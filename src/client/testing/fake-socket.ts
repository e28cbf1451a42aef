import type { components } from '../../../generated/asyncapi.ts'
import { continueFrom } from '../../protocol/sequence.ts'
import type { RealtimeSocket } from '../sync/exchange/transport.ts'
import type { FakeRecords } from './fake-records.ts'

type Messages = components['schemas']

/** The client's end of a realtime channel to the fake service. */
export class FakeSocket extends EventTarget implements RealtimeSocket {
  readonly #deviceId: string
  readonly #records: FakeRecords
  readonly #onClose: (socket: FakeSocket) => void
  /** Up to which sequence number changes were sent; undefined until the channel is open. */
  #cursor: number | undefined
  #isClosed = false

  constructor(deviceId: string, records: FakeRecords, onClose: (socket: FakeSocket) => void) {
    super()
    this.#deviceId = deviceId
    this.#records = records
    this.#onClose = onClose
  }

  /** @param since the cursor from which missed changes are sent; without it, only later ones are */
  open(since: number | undefined, now: number): void {
    if (this.#isClosed) return
    const { lastStamp } = this.#records
    this.#cursor = continueFrom(since ?? lastStamp, lastStamp)
    this.dispatchEvent(new Event('open'))
    this.#say({ type: 'connected', deviceId: this.#deviceId, timestamp: now, epoch: this.#records.epoch })
    this.deliver()
  }

  /** Sends what other devices have changed since. */
  deliver(): void {
    if (this.#cursor === undefined) return
    for (const { event, stamp } of this.#records.changesAfter(this.#cursor)) {
      this.#cursor = stamp
      if (event.device_id === 'unknown' || event.device_id !== this.#deviceId) this.#say({ type: 'sync', event, stamp })
    }
  }

  send(data: string): void {
    if (this.#isClosed) return
    const { type } = JSON.parse(data) as { type: string }
    if (type === 'ping') queueMicrotask(() => this.#say({ type: 'pong' }))
    if (type === 'sync')
      queueMicrotask(() => this.#say({ type: 'error', error: 'The fake service takes no changes here' }))
  }

  close(code = 1000): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#onClose(this)
    queueMicrotask(() => this.dispatchEvent(Object.assign(new Event('close'), { code, reason: '', wasClean: true })))
  }

  #say(message: Messages[`${'Connected' | 'Sync' | 'Pong' | 'Error'}Message`]): void {
    if (!this.#isClosed) this.dispatchEvent(new MessageEvent('message', { data: JSON.stringify(message) }))
  }
}
