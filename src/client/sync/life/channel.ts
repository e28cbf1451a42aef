import type { components } from '../../../../generated/asyncapi.ts'
import type { Clock } from '../../timing/clock.ts'
import { Alarm, pause } from '../../timing/clock.ts'
import type { TimeAnswer } from '../exchange/correct-clock.ts'
import type { NumberedEvent } from '../exchange/take.ts'
import type { RealtimeSocket } from '../exchange/transport.ts'

type Messages = components['schemas']
type ServerMessage = Messages[`${'Connected' | 'Sync' | 'Ping' | 'Pong' | 'Error'}Message`]

const handshakeMs = 20_000
/** The service pings every 20 s: a channel silent for this long (ms) is dead, whatever the platform reports. */
const silenceMs = 45_000

/** From the `ConnectedMessage`. */
interface Greeting {
  time: TimeAnswer
  epoch: string
}

/** The realtime channel over a WebSocket. Keeps received changes until `drain` returns them. */
export class Channel {
  /** Rings when a change has arrived or the channel has closed. */
  readonly activity = new Alarm()
  readonly #socket: RealtimeSocket
  readonly #clock: Clock
  /** Rings with the greeting, with each ping, and with other messages that are not changes. */
  readonly #heard = new Alarm()
  readonly #greeted = Promise.withResolvers<Greeting | undefined>()
  readonly #ended = new AbortController()
  #isGreeted = false
  #received: NumberedEvent[] = []
  readonly #openedAt: number
  #heardAt: number

  constructor(socket: RealtimeSocket, clock: Clock, signal: AbortSignal) {
    this.#socket = socket
    this.#clock = clock
    this.#openedAt = clock.now()
    this.#heardAt = this.#openedAt
    socket.addEventListener('message', ({ data }) => this.#hear(data))
    socket.addEventListener('close', () => this.#end())
    socket.addEventListener('error', () => this.#end())
    signal.addEventListener('abort', () => this.close(), { signal: this.#ended.signal })
    void this.#watch()
  }

  get isOpen(): boolean {
    return !this.#ended.signal.aborted
  }

  /** Undefined if the channel was refused or remained silent. */
  get greeted(): Promise<Greeting | undefined> {
    return this.#greeted.promise
  }

  /** Returns the changes received since the last call. */
  drain(): NumberedEvent[] {
    const received = this.#received
    this.#received = []
    return received
  }

  close(): void {
    this.#end()
    this.#socket.close()
  }

  #end(): void {
    this.#ended.abort()
    this.#greeted.resolve(undefined)
    this.activity.ring()
  }

  #greet({ timestamp: serverTime, epoch }: Messages['ConnectedMessage']): void {
    this.#isGreeted = true
    this.#greeted.resolve({ time: { serverTime, sentAt: this.#openedAt, heardAt: this.#heardAt }, epoch })
  }

  #hear(data: unknown): void {
    if (!this.isOpen) return
    this.#heardAt = this.#clock.now()
    const message = readMessage(data)
    if (message?.type === 'connected') this.#greet(message)
    if (message?.type === 'ping') this.#socket.send(JSON.stringify({ type: 'pong' } satisfies Messages['PongMessage']))
    if (message?.type === 'sync') {
      this.#received.push({ event: message.event, stamp: message.stamp, previous: message.previous_stamp })
      this.activity.ring()
    } else this.#heard.ring()
  }

  /** Closes a silent channel. Each ping restarts the timer, so that it never wakes the device while pings arrive. */
  async #watch(): Promise<void> {
    const deadline = () => (this.#isGreeted ? this.#heardAt + silenceMs : this.#openedAt + handshakeMs)
    while (this.isOpen && this.#clock.now() < deadline()) {
      this.#heard.reset()
      const left = Math.min(silenceMs, deadline() - this.#clock.now())
      await pause(this.#clock, left, [this.#heard.rung], this.#ended.signal)
      // The clock may have been set back meanwhile.
      this.#heardAt = Math.min(this.#heardAt, this.#clock.now())
    }
    this.close()
  }
}

function readMessage(data: unknown): ServerMessage | undefined {
  try {
    return JSON.parse(String(data)) as ServerMessage
  } catch {
    return undefined
  }
}
