import type { WebSocket } from 'ws'
import { closeCodes, silenceSeconds } from '../../generated/channel.ts'
import type { ServerMessage } from '../contract/schemas.ts'
import { Acknowledgements } from './acknowledgements.ts'

/** A socket with this many unsent bytes is sent nothing more until it has drained. */
const maxUnsentBytes = 1024 * 1024
export const checkEveryMs = 5000
/** A socket is closed at the first check after this time since its client last sent or read anything. */
const maxQuietChecks = (silenceSeconds * 1000) / checkEveryMs
const lingerMs = 1000

export interface Peer {
  userId: string
  loginId: string
  deviceId: string
  /** The cursor to continue from; without one, the socket starts with the next change. */
  since: number | undefined
}

/** The sending half of a socket, and the check whether its client is still alive. */
export class Connection {
  readonly peer: Peer
  readonly acknowledgements = new Acknowledgements()
  /** The sequence number up to which changes were sent or skipped; undefined until the socket is greeted. */
  cursor: number | undefined
  /** The audience's `news` up to which this socket was sent everything. */
  newsSent = -1
  /** The work on the client's messages. */
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
    // By now the library has answered a protocol violation with its close code.
    socket.on('error', () => this.#linger())
  }

  get open(): boolean {
    return !this.closing && this.#socket.readyState === this.#socket.OPEN
  }

  get stalled(): boolean {
    return this.#draining !== undefined
  }

  /** Resolves once the socket can be sent something, or never will be. */
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

  greet(cursor: number, timestamp: number, epoch: string): void {
    this.cursor = cursor
    this.send({ type: 'connected', deviceId: this.peer.deviceId, timestamp, epoch })
    this.#greeted.resolve()
  }

  send(message: ServerMessage): void {
    this.sendText(Buffer.from(JSON.stringify(message)))
  }

  /** Never waits. One buffer can go to many sockets, because nothing is copied. */
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

  /** Called at each check. While the socket is paused, its silence does not count, because we are not reading. */
  check(): void {
    const unsent = this.#socket.bufferedAmount
    this.#stuckChecks = this.stalled && unsent >= this.#unsentBytes ? this.#stuckChecks + 1 : 0
    this.#unsentBytes = unsent
    if (!this.#socket.isPaused) this.#silentChecks++
    if (this.#silentChecks > maxQuietChecks || this.#stuckChecks > maxQuietChecks) this.close(closeCodes.silent)
  }

  close(code: (typeof closeCodes)['stopping' | 'signedOut' | 'silent']): void {
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

  /** Nobody must wait for a socket that has ended. */
  #settle(): void {
    this.#greeted.resolve()
    this.#draining?.resolve()
  }
}
