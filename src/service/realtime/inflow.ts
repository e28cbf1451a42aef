import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { requestUnit } from '../load/rates.ts'
import type { Connection } from './connection.ts'

export interface InflowParts {
  /** Returns for how many ms the user has exceeded the rate limit, if so. */
  limits: { chargeUser(userId: string, requests: number): number | undefined }
}

/**
 * Counts what a socket's client sends, as a request's bytes count: fragments, and pings and pongs of the protocol, cost time
 * and memory although they are no messages. Beyond the limit, nothing is read until it is over.
 */
export function limitInflow(stream: Duplex, connection: Connection, { limits }: InflowParts): void {
  let uncounted = 0

  async function rest(ms: number): Promise<void> {
    connection.hold()
    await Promise.race([sleep(ms, undefined, { ref: false }), connection.ended()])
    connection.release()
  }

  // Comes before the library, which may find a whole message in it.
  stream.prependListener('data', ({ length }: Buffer) => {
    connection.arrived(length)
    uncounted += length
    const units = Math.floor(uncounted / requestUnit)
    if (units === 0) return
    uncounted -= units * requestUnit
    // Without a limit exceeded, it is only until the others have had their turn: the system reads on while there is more.
    rest(limits.chargeUser(connection.peer.userId, units) ?? 0)
  })
}
