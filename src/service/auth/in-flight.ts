import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/engine/database.ts'
import { findAliveLogins, isLoginAlive, type LoginKey } from '../db/tables/logins.ts'
import type { Notices } from '../notices/notices.ts'

/** Checks the logins of all followed responses this often (ms): notifications may get lost, and sessions expire. */
const sweepEveryMs = 30_000

export type InFlight = ReturnType<typeof followResponses>

interface Parts {
  log: FastifyBaseLogger
  clock: () => number
  database: Pick<Database, 'db'>
  notices: Pick<Notices, 'subscribe' | 'follow'>
}

/** Tracks the long responses and downloads that this process is sending. Each ends with its login, like a socket. */
export function followResponses({ log, clock, database, notices }: Parts) {
  const followed = new Map<string, { login: LoginKey; bodies: Set<Readable> }>()

  /** Destroying the body of a started response closes the connection. */
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
    /** Destroys `body` when the login ends. If it has ended (InvalidSession) or the check fails, also throws. */
    async follow(login: LoginKey, body: Readable): Promise<void> {
      const { loginId } = login
      const bodies = followed.get(loginId)?.bodies ?? new Set()
      followed.set(loginId, { login, bodies: bodies.add(body) })
      // The body may fail before anything else listens for errors.
      body.on('error', () => {})
      const following = notices.follow(login.userId)
      body.once('close', () => {
        following.stop()
        bodies.delete(body)
        if (bodies.size === 0) followed.delete(loginId)
      })
      try {
        // Checked only now, because an earlier end of the login may not have been announced to this process.
        await following.ready
        if (!(await isLoginAlive(database.db, login, clock()))) throw new ServiceError('InvalidSession')
      } catch (error) {
        // Nothing else destroys a body that is not sent.
        body.destroy()
        throw error
      }
    },
    async close(): Promise<void> {
      clearInterval(timer)
    },
  }
}
