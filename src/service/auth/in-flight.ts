import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/engine/database.ts'
import { findAliveLogins, isLoginAlive, type LoginKey } from '../db/tables/logins.ts'
import type { Notices } from '../notices/notices.ts'

/** Makes up for lost notices, and finds sessions that have expired. */
const sweepEveryMs = 30_000

export type InFlight = ReturnType<typeof followResponses>

interface Parts {
  log: FastifyBaseLogger
  clock: () => number
  database: Pick<Database, 'db'>
  notices: Pick<Notices, 'subscribe' | 'follow'>
}

/** The responses in parts, the long ones and the downloads that this process is sending. Each ends with its login, as a socket does. */
export function followResponses({ log, clock, database, notices }: Parts) {
  const followed = new Map<string, { login: LoginKey; bodies: Set<Readable> }>()

  /** Destroying the body of a response that has begun cuts the connection. */
  function end(loginId: string): void {
    for (const body of followed.get(loginId)?.bodies ?? []) body.destroy(new ServiceError('InvalidSession'))
  }

  async function endDead(): Promise<void> {
    const logins = [...followed.values()].map(({ login }) => login)
    if (logins.length === 0) return
    const alive = await findAliveLogins(database.db, logins, clock())
    for (const { loginId } of logins) if (!alive.has(loginId)) end(loginId)
  }

  function check(): void {
    endDead().catch((err) => log.error({ err }, 'the logins of unfinished responses could not be checked, retrying'))
  }

  const timer = setInterval(check, sweepEveryMs).unref()
  notices.subscribe({ ended: end, missed: check })

  return {
    /** Destroys `body` when the login ends. Throws InvalidSession if it already has. If it throws, `body` is destroyed. */
    async follow(login: LoginKey, body: Readable): Promise<void> {
      const { loginId } = login
      const bodies = followed.get(loginId)?.bodies ?? new Set()
      followed.set(loginId, { login, bodies: bodies.add(body) })
      // It may be destroyed before anything else listens.
      body.on('error', () => {})
      const following = notices.follow(login.userId)
      body.once('close', () => {
        following.stop()
        bodies.delete(body)
        if (bodies.size === 0) followed.delete(loginId)
      })
      try {
        // Only now: a login that ended before was announced to nobody.
        await following.ready
        if (!(await isLoginAlive(database.db, login, clock()))) throw new ServiceError('InvalidSession')
      } catch (error) {
        // Nobody else will: it is not sent.
        body.destroy()
        throw error
      }
    },
    async close(): Promise<void> {
      clearInterval(timer)
    },
  }
}
