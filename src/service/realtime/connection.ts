import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { closeCodes, silenceSeconds } from '../../../generated/channel.ts'
import type { Schemas, ServerMessage } from '../contract/schemas.ts'

/** A socket with this many unsent bytes is sent nothing more until it has drained. */
const maxUnsentBytes = 1024 * 1024
export const checkEveryMs = 5000
/** A socket is closed at the first check after this time since its client last sent or read anything, or began a message. */
const maxQuietChecks = (silenceSeconds * 1000) / checkEveryMs
const lingerMs = 1000
/** The header of a ping or pong (RFC 6455, section 5.2). */
const controlHeaderBytes = 6
const finalText = 0x81
/** Lengths that follow in two or eight bytes. */
const [twoBytes, eightBytes] = [126, 127]
const ping = toFrame(JSON.stringify({ type: 'ping' } satisfies ServerMessage))

export interface Peer {
  userId: string
  loginId: string
  deviceId: string
  /** The cursor to continue from; without one, the socket starts with the next change. */
  since: number | undefined
  /** The entity types whose changes it gets; undefined for all. */
  types: Schemas['EntityType'][] | undefined
}

/** The hub hears when a socket has room again, fails or has ended. All sockets share them. */
export interface ConnectionEvents {
  drained(connection: Connection): void
  failed(error: Error): void
  ended(connection: Connection): void
}

/** The sending half of a socket, and the check whether its client is still alive. Most are idle, so it holds little. */
export class Connection {
  readonly peer: Peer
  /** The sequence number up to which changes were sent or skipped; undefined until the socket is greeted. */
  cursor: number | undefined
  /** The sequence number up to which its client knows all that it wants. */
  told = 0
  /** The audience's `news` up to which this socket was sent everything. */
  newsSent = -1
  /** The work on the client's messages, while there is any. */
  work: Promise<void> | undefined
  closing = false
  readonly #socket: WebSocket
  readonly #stream: Writable
  readonly #events: ConnectionEvents
  #ended = false
  /** Resolves at the next change of what somebody waits for. */
  #change: PromiseWithResolvers<void> | undefined
  #stalled = false
  #unsentBytes = 0
  #stuckChecks = 0
  #silentChecks = 0
  #holds = 0
  /** The bytes that have arrived of a message that is not complete. */
  #unfinishedBytes = 0
  #unfinishedChecks = 0

  /** `stream` is the one below the socket. */
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

  /** Resolves once the socket can be sent something, or never will be. */
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

  /** Resolves after so long, or when it has ended. */
  async rest(ms: number): Promise<void> {
    await Promise.race([sleep(ms, undefined, { ref: false }), this.ended()])
  }

  greet(cursor: number, timestamp: number, epoch: string): void {
    this.cursor = cursor
    this.told = cursor
    this.send({ type: 'connected', deviceId: this.peer.deviceId, timestamp, epoch })
    this.#tell()
  }

  send(message: ServerMessage): void {
    this.sendFrame(toFrame(JSON.stringify(message)))
  }

  /** Never waits. One frame goes to many sockets as it is: the library would make each its own, in two buffers. */
  sendFrame(frame: Buffer): void {
    if (!this.open) return
    this.#stream.write(frame, this.#sent)
    if (this.#socket.bufferedAmount >= maxUnsentBytes) this.#stalled = true
  }

  ping(): void {
    if (this.cursor !== undefined && !this.stalled) this.sendFrame(ping)
  }

  /** Counts bytes from the client, before the library has handed over what they make. */
  arrived(bytes: number): void {
    this.#unfinishedBytes += bytes
  }

  /** The client has sent a whole message. */
  heard(): void {
    this.#silentChecks = 0
    this.#unfinishedBytes = 0
    this.#unfinishedChecks = 0
  }

  /** They may come between the fragments of a message, which they must not keep alive. */
  #heardControl(data: Buffer): void {
    this.#silentChecks = 0
    this.#unfinishedBytes = Math.max(0, this.#unfinishedBytes - controlHeaderBytes - data.length)
  }

  /** Nothing more is read from the client until each hold was released. */
  hold(): void {
    if (++this.#holds === 1) this.#socket.pause()
  }

  release(): void {
    if (--this.#holds === 0) this.#socket.resume()
  }

  /** Called at each check. While the socket is paused, its silence does not count, because we are not reading. */
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
    this.#tell()
    this.#events.drained(this)
  }

  /** The peer has a second to answer the close frame. */
  #linger(): void {
    this.closing = true
    this.#tell()
    const timer = setTimeout(() => this.#socket.terminate(), lingerMs).unref()
    this.#socket.once('close', () => clearTimeout(timer))
  }

  /** The library has already answered a protocol violation with its close code. */
  #fail(error: Error): void {
    this.#events.failed(error)
    this.#linger()
  }

  #end(): void {
    this.#ended = true
    this.#tell()
    this.#events.ended(this)
  }

  #changed(): Promise<void> {
    this.#change ??= Promise.withResolvers()
    return this.#change.promise
  }

  #tell(): void {
    this.#change?.resolve()
    this.#change = undefined
  }
}

/** A text message as the server sends it (RFC 6455, section 5.2): made once, however many sockets it goes to. */
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
