import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { closeCodes, silenceSeconds } from '../../../generated/channel.ts'
import type { Schemas, ServerMessage } from '../contract/schemas.ts'

/** A socket with this many unsent bytes gets no more changes until less than half of them are left. */
const maxUnsentBytes = 1024 * 1024
export const checkEveryMs = 5000
/** Checks before a socket is closed whose client sends nothing, reads nothing, or does not finish a message. */
const maxQuietChecks = (silenceSeconds * 1000) / checkEveryMs
const lingerMs = 1000
/** Bytes of a ping's or pong's header (RFC 6455, section 5.2). */
const controlHeaderBytes = 6
const finalText = 0x81
/** Length codes for lengths in the next two or eight bytes. */
const [twoBytes, eightBytes] = [126, 127]
const ping = toFrame(JSON.stringify({ type: 'ping' } satisfies ServerMessage))

export interface Peer {
  userId: string
  loginId: string
  deviceId: string
  /** The cursor to continue from; undefined to start with the next change. */
  since: number | undefined
  /** The entity types whose changes it gets; undefined for all. */
  types: Schemas['EntityType'][] | undefined
}

/** Called by sockets. One object for all of them. */
export interface ConnectionEvents {
  drained(connection: Connection): void
  failed(error: Error): void
  ended(connection: Connection): void
}

/** The sending half of a socket, and the check whether its client is alive. Must be small: most sockets are idle. */
export class Connection {
  readonly peer: Peer
  /** The sequence number up to which changes were sent or skipped; undefined before the greeting. */
  cursor: number | undefined
  /** The sequence number of the last change that was sent, or of the greeting. */
  lastSent = 0
  /** The value of the audience's `news` up to which this socket has everything. */
  newsSent = -1
  /** The running work on the client's messages. */
  work: Promise<void> | undefined
  closing = false
  readonly #socket: WebSocket
  readonly #stream: Writable
  readonly #events: ConnectionEvents
  #ended = false
  /** Resolves at the next event that a method of this class waits for. */
  #change: PromiseWithResolvers<void> | undefined
  #stalled = false
  #unsentBytes = 0
  #stuckChecks = 0
  #silentChecks = 0
  #holds = 0
  /** Bytes received of an incomplete message. */
  #unfinishedBytes = 0
  #unfinishedChecks = 0

  /** `stream` is the connection below the socket. */
  constructor(socket: WebSocket, stream: Writable, peer: Peer, events: ConnectionEvents) {
    this.#socket = socket
    this.#stream = stream
    this.peer = peer
    this.#events = events
    const control = (data: Buffer) => this.#heardControl(data)
    socket.on('ping', control).on('pong', control)
    socket.on('close', () => this.#end())
    socket.on('error', (error) => this.#fail(error))
  }

  get open(): boolean {
    return !this.closing && this.#socket.readyState === this.#socket.OPEN
  }

  get stalled(): boolean {
    return this.#stalled
  }

  /** Resolves once the socket can be written to, or never will be. */
  async ready(): Promise<void> {
    const isReady = () => this.closing || this.#ended || (this.cursor !== undefined && !this.#stalled)
    while (!isReady()) await this.#changed()
  }

  get unsentBytes(): number {
    return this.#socket.bufferedAmount
  }

  async ended(): Promise<void> {
    while (!this.#ended) await this.#changed()
  }

  /** Resolves after this time, or when the socket has ended. */
  async rest(ms: number): Promise<void> {
    await Promise.race([sleep(ms, undefined, { ref: false }), this.ended()])
  }

  greet(cursor: number, timestamp: number, epoch: string): void {
    this.cursor = cursor
    this.lastSent = cursor
    this.send({ type: 'connected', deviceId: this.peer.deviceId, timestamp, epoch })
    this.#notify()
  }

  send(message: ServerMessage): void {
    this.sendFrame(toFrame(JSON.stringify(message)))
  }

  /** Never waits. The same frame goes to many sockets: the library would make a new one for each, in two buffers. */
  sendFrame(frame: Buffer): void {
    if (!this.open) return
    this.#stream.write(frame, this.#sent)
    if (this.#socket.bufferedAmount >= maxUnsentBytes) this.#stalled = true
  }

  ping(): void {
    if (this.cursor !== undefined && !this.stalled) this.sendFrame(ping)
  }

  /** Counts bytes from the client before the library has parsed them. */
  arrived(bytes: number): void {
    this.#unfinishedBytes += bytes
  }

  /** Notes that the client has sent a complete message. */
  heard(): void {
    this.#silentChecks = 0
    this.#unfinishedBytes = 0
    this.#unfinishedChecks = 0
  }

  /** Pings and pongs may come between the fragments of a message. They must not keep an unfinished message alive. */
  #heardControl(data: Buffer): void {
    this.#silentChecks = 0
    this.#unfinishedBytes = Math.max(0, this.#unfinishedBytes - controlHeaderBytes - data.length)
  }

  /** Stops reading from the client until every hold is released. */
  hold(): void {
    if (++this.#holds === 1) this.#socket.pause()
  }

  release(): void {
    if (--this.#holds === 0) this.#socket.resume()
  }

  /** Runs at each check. Silence does not count while the socket is paused, because nothing is read. */
  check(): void {
    const unsent = this.#socket.bufferedAmount
    this.#stuckChecks = this.stalled && unsent >= this.#unsentBytes ? this.#stuckChecks + 1 : 0
    this.#unsentBytes = unsent
    if (!this.#socket.isPaused) this.#silentChecks++
    this.#unfinishedChecks = this.#unfinishedBytes > 0 ? this.#unfinishedChecks + 1 : 0
    const quietChecks = Math.max(this.#silentChecks, this.#stuckChecks, this.#unfinishedChecks)
    if (quietChecks > maxQuietChecks) this.close(closeCodes.silent)
  }

  close(code: (typeof closeCodes)['stopping' | 'signedOut' | 'silent']): void {
    if (this.closing) return
    this.#socket.resume()
    this.#socket.close(code)
    this.#linger()
  }

  #sent = (): void => {
    if (!this.#stalled || this.#socket.bufferedAmount >= maxUnsentBytes / 2) return
    this.#stalled = false
    this.#notify()
    this.#events.drained(this)
  }

  /** Gives the peer a second to answer the close frame. */
  #linger(): void {
    this.closing = true
    this.#notify()
    const timer = setTimeout(() => this.#socket.terminate(), lingerMs).unref()
    this.#socket.once('close', () => clearTimeout(timer))
  }

  /** Ends a failed socket. The library has already answered a protocol violation with its close code. */
  #fail(error: Error): void {
    this.#events.failed(error)
    this.#linger()
  }

  #end(): void {
    this.#ended = true
    this.#notify()
    this.#events.ended(this)
  }

  #changed(): Promise<void> {
    this.#change ??= Promise.withResolvers()
    return this.#change.promise
  }

  #notify(): void {
    this.#change?.resolve()
    this.#change = undefined
  }
}

/** A text message as a frame (RFC 6455, section 5.2), made once for any number of sockets. */
export function toFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const header = headerOf(length)
  const frame = Buffer.allocUnsafe(header.length + length)
  frame.set(header)
  frame.write(text, header.length)
  return frame
}

function headerOf(length: number): Buffer {
  if (length < twoBytes) return Buffer.of(finalText, length)
  const isShort = length < 2 ** 16
  const header = Buffer.alloc(isShort ? 4 : 10)
  header.set([finalText, isShort ? twoBytes : eightBytes])
  if (isShort) header.writeUInt16BE(length, 2)
  else header.writeBigUInt64BE(BigInt(length), 2)
  return header
}
