import type { Duplex } from 'node:stream'
import { closeCodes } from '../../../generated/channel.ts'
import { type Limits, requestUnit } from '../load/rates.ts'
import type { limitPerOwner } from '../load/turns.ts'
import type { Connection } from './connection.ts'

/** In one read, of at most 64 KiB. Whoever sends more at once sends nothing that a client has to say. */
const maxFrames = 1000
/** Handed over in one turn: their messages take a millisecond or two. */
const framesOfPiece = 64
/** So many frames that complete no message count as a request, beside their bytes. */
const framesUnit = 16

export interface InflowParts {
  limits: Pick<Limits, 'chargeUser'>
  inTurn: ReturnType<typeof limitPerOwner>
}

/** Bytes that have arrived over a socket, and were not handed to the library. */
export interface Inflow {
  /** Hands over a few frames, in the user's turn. False if there are none. */
  handOver(): boolean | Promise<boolean>
}

/**
 * Stands between a socket and the library, which reads all frames of what it is given without a turn of the event loop: it is
 * given a few at a time, and of a user's sockets few have a turn. Counts what arrives, as a request's bytes count: fragments,
 * and pings and pongs of the protocol, cost time and memory although they are no messages. Beyond the limit, nothing is read
 * until it is over; of a flood, nothing more at all.
 *
 * `arrived` is called when there is something to hand over.
 */
export function holdInflow(
  stream: Duplex,
  connection: Connection,
  { limits, inTurn }: InflowParts,
  arrived: () => void,
): Inflow {
  const { userId } = connection.peer
  const listeners = stream.listeners('data') as ((chunk: Buffer) => void)[]
  const frames = new FrameScan()
  const pieces: Buffer[] = []
  let uncounted = 0

  function deliver(piece: Buffer): void {
    if (!stream.destroyed) for (const listener of listeners) listener.call(stream, piece)
  }

  async function hold(ms: number): Promise<void> {
    connection.hold()
    await connection.rest(ms)
    connection.release()
  }

  function charge(bytes: number, count: number): void {
    uncounted += bytes / requestUnit + count / framesUnit
    const units = Math.floor(uncounted)
    if (units === 0) return
    uncounted -= units
    // Without a limit exceeded, it is only until the others have had their turn: the system reads on while there is more.
    hold(limits.chargeUser(userId, units) ?? 0)
  }

  stream.removeAllListeners('data')
  stream.on('data', (chunk: Buffer) => {
    // The library itself reads what is left of one that is closed.
    if (stream.destroyed) return
    connection.arrived(chunk.length)
    const starts = frames.read(chunk)
    charge(chunk.length, starts.filter((start) => !completesMessage(chunk[start] as number)).length)
    if (starts.length > maxFrames) return connection.cutOff(closeCodes.flooded)
    pieces.push(...cut(chunk, starts))
    // The rest is the answer to the close frame, which waits for no message.
    if (connection.closing) for (const piece of pieces.splice(0)) deliver(piece)
    else arrived()
  })
  return {
    handOver() {
      const piece = pieces.shift()
      if (!piece) return false
      return inTurn(userId, () => {
        deliver(piece)
        return true
      })
    },
  }
}

/** The last frame of a text or a binary message; all others are fragments, pings, pongs and the close frame. */
function completesMessage(first: number): boolean {
  return first >= 0x80 && (first & 0x0f) <= 2
}

function cut(chunk: Buffer, starts: number[]): Buffer[] {
  const ends = starts.filter((_, index) => index > 0 && index % framesOfPiece === 0)
  return [...ends, chunk.length].map((end, index) => chunk.subarray(ends[index - 1] ?? 0, end))
}

/** Finds the frames in what arrives (RFC 6455, section 5.2). The library tells only of messages, once it has read them. */
class FrameScan {
  /** The bytes of a header that have arrived. */
  readonly #header: number[] = []
  /** The bytes of a frame that are still to come after its header. */
  #payload = 0

  /** Where frames begin; of a flood, no more than is needed to know it for one. */
  read(chunk: Buffer): number[] {
    const starts: number[] = []
    for (let at = 0; at < chunk.length && starts.length <= maxFrames; ) {
      const skipped = Math.min(this.#payload, chunk.length - at)
      this.#payload -= skipped
      at += skipped
      if (at === chunk.length) break
      if (this.#header.length === 0) starts.push(at)
      this.#header.push(chunk[at++] as number)
      const payload = payloadOf(this.#header)
      if (payload === undefined) continue
      this.#payload = payload
      this.#header.length = 0
    }
    return starts
  }
}

/** Undefined if the header is not complete. */
function payloadOf([, second, ...rest]: number[]): number | undefined {
  if (second === undefined) return undefined
  const short = second & 0x7f
  const more = short === 127 ? 8 : short === 126 ? 2 : 0
  const mask = second & 0x80 ? 4 : 0
  if (rest.length < more + mask) return undefined
  return more === 0 ? short : rest.slice(0, more).reduce((length, byte) => length * 256 + byte, 0)
}
