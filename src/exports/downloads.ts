import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/database.ts'
import { findAliveLogins } from '../db/logins.ts'
import type { Pulse } from '../pulse/pulse.ts'

/** Makes up for lost pulses, and finds sessions that have expired. */
const sweepEveryMs = 30_000

/** The downloads that this process is sending. Each ends with its login. */
export interface ActiveDownloads {
  /** Destroys `body` when the login ends. Throws InvalidSession if it already has. */
  follow(loginId: string, body: Readable): Promise<void>
  close(): Promise<void>
}

interface Parts {
  log: FastifyBaseLogger
  clock: () => number
  database: Pick<Database, 'db'>
  pulse: Pick<Pulse, 'subscribe'>
}

export function followDownloads({ log, clock, database, pulse }: Parts): ActiveDownloads {
  const followed = new Map<string, Set<Readable>>()

  /** Destroying the body of a response that has begun cuts the connection. */
  function end(loginId: string): void {
    for (const body of followed.get(loginId) ?? []) body.destroy(new ServiceError('InvalidSession'))
  }

  async function endDead(): Promise<void> {
    const loginIds = [...followed.keys()]
    if (loginIds.length === 0) return
    const alive = await findAliveLogins(database.db, loginIds, clock())
    for (const loginId of loginIds) if (!alive.has(loginId)) end(loginId)
  }

  function check(): void {
    endDead().catch((err) => log.error({ err }, 'the logins of downloads could not be checked, retrying'))
  }

  const timer = setInterval(check, sweepEveryMs).unref()
  pulse.subscribe({ changed() {}, ended: end, missed: check })

  return {
    async follow(loginId, body) {
      const bodies = followed.get(loginId) ?? new Set()
      followed.set(loginId, bodies.add(body))
      // It may be destroyed before anything else listens.
      body.on('error', () => {})
      body.once('close', () => {
        bodies.delete(body)
        if (bodies.size === 0) followed.delete(loginId)
      })
      // Only now: a login that ended before was announced to nobody.
      const alive = await findAliveLogins(database.db, [loginId], clock())
      if (alive.has(loginId)) return
      body.destroy()
      throw new ServiceError('InvalidSession')
    },
    async close() {
      clearInterval(timer)
    },
  }
}
