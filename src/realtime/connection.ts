import type { WebSocket } from 'ws'
import type { ServerMessage } from '../contract/schemas.ts'
import { Acknowledgements } from './acknowledgements.ts'

export const closeCodes = { stopping: 1001, signedOut: 4401, silent: 4408 } as const

/** A socket with this much unsent gets nothing more until it has drained. */
const maxUnsentBytes = 1024 * 1024
/** Checks are 5 s apart: a socket is closed at the first one that comes 60 s after it was last heard, or read. */
const maxQuietChecks = 12
const lingerMs = 1000

export interface Peer {
  userId: string
  loginId: string
  deviceId: string
  /** The stamp to go on from; without one the socket starts with what comes next. */
  since: number | undefined
}

/** The sending half of a socket, and whether its client still lives. */
export class Connection {
  readonly peer: Peer
  readonly acknowledgements = new Acknowledgements()
  /** Up to which stamp changes were sent or passed over; undefined until the socket is greeted. */
  cursor: number | undefined
  /** What is being done about the client's messages. */
  work: Promise<void> = Promise.resolve()
  closing = false
  readonly #socket: WebSocket
  readonly #onDrained: () => void
  readonly #greeted = Promise.withResolvers<void>()
  readonly #ended = Promise.withResolvers<void>()
  #draining: PromiseWithResolvers<void> | undefined
  #unsentBytes = 0
  #stuckChecks = 0
  #silentChecks = 0

  constructor(socket: WebSocket, peer: Peer, onDrained: () => void) {
    this.#socket = socket
    this.peer = peer
    this.#onDrained = onDrained
    for (const event of ['message', 'ping', 'pong']) socket.on(event, () => this.#heard())
    socket.on('close', () => this.#end())
    // The library has answered a fault of the protocol with its close code by now.
    socket.on('error', () => this.#linger())
  }

  get open(): boolean {
    return !this.closing && this.#socket.readyState === this.#socket.OPEN
  }

  get stalled(): boolean {
    return this.#draining !== undefined
  }

  /** Resolves once the socket may be sent something, or will never be. */
  async ready(): Promise<void> {
    await this.#greeted.promise
    await this.#draining?.promise
  }

  get unsentBytes(): number {
    return this.#socket.bufferedAmount
  }

  get ended(): Promise<void> {
    return this.#ended.promise
  }

  greet(cursor: number, timestamp: number): void {
    this.cursor = cursor
    this.send({ type: 'connected', deviceId: this.peer.deviceId, timestamp })
    this.#greeted.resolve()
  }

  send(message: ServerMessage): void {
    this.sendText(Buffer.from(JSON.stringify(message)))
  }

  /** One buffer may go to many sockets: nothing is copied. Never waits. */
  sendText(message: Buffer): void {
    if (!this.open) return
    this.#socket.send(message, { binary: false }, this.#sent)
    if (this.#socket.bufferedAmount >= maxUnsentBytes) this.#draining ??= Promise.withResolvers()
  }

  ping(): void {
    if (this.cursor !== undefined && !this.stalled) this.send({ type: 'ping' })
  }

  #heard(): void {
    this.#silentChecks = 0
  }

  /** Called every 5 s. While the socket is paused, it is us who do not listen. */
  check(): void {
    const unsent = this.#socket.bufferedAmount
    this.#stuckChecks = this.stalled && unsent >= this.#unsentBytes ? this.#stuckChecks + 1 : 0
    this.#unsentBytes = unsent
    if (!this.#socket.isPaused) this.#silentChecks++
    if (this.#silentChecks > maxQuietChecks || this.#stuckChecks > maxQuietChecks) this.close(closeCodes.silent)
  }

  close(code: (typeof closeCodes)[keyof typeof closeCodes]): void {
    if (this.closing) return
    this.#socket.resume()
    this.#socket.close(code)
    this.#linger()
  }

  #sent = (): void => {
    const draining = this.#draining
    if (!draining || this.#socket.bufferedAmount >= maxUnsentBytes / 2) return
    this.#draining = undefined
    draining.resolve()
    this.#onDrained()
  }

  /** The peer has a second to answer the close frame. */
  #linger(): void {
    this.closing = true
    this.#settle()
    const timer = setTimeout(() => this.#socket.terminate(), lingerMs).unref()
    this.#socket.once('close', () => clearTimeout(timer))
  }

  #end(): void {
    this.#settle()
    this.#ended.resolve()
  }

  /** Nobody waits for a socket that is gone. */
  #settle(): void {
    this.#greeted.resolve()
    this.#draining?.resolve()
  }
}
