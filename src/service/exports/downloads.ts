import type { Readable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/engine/database.ts'
import { findAliveLogins, isLoginAlive, type LoginKey } from '../db/tables/logins.ts'
import type { Notices } from '../notices/notices.ts'
import type { ByteRange } from '../objects/store.ts'

/** Makes up for lost notices, and finds sessions that have expired. */
const sweepEveryMs = 30_000

/** The downloads that this process is sending. Each ends with its login. */
export interface ActiveDownloads {
  /** Destroys `body` when the login ends. Throws InvalidSession if it already has. If it throws, `body` is destroyed. */
  follow(login: LoginKey, body: Readable): Promise<void>
  close(): Promise<void>
}

interface Parts {
  log: FastifyBaseLogger
  clock: () => number
  database: Pick<Database, 'db'>
  notices: Pick<Notices, 'subscribe' | 'follow'>
}

export function followDownloads({ log, clock, database, notices }: Parts): ActiveDownloads {
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
    endDead().catch((err) => log.error({ err }, 'the logins of downloads could not be checked, retrying'))
  }

  const timer = setInterval(check, sweepEveryMs).unref()
  notices.subscribe({ ended: end, missed: check })

  return {
    async follow(login, body) {
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
    async close() {
      clearInterval(timer)
    },
  }
}

/**
 * Reads a Range header (RFC 9110, section 14): one range, `unsatisfiable`, or undefined if the header must be ignored, because it
 * is malformed, has another unit, or requests several ranges.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=[\t ]*(\d*)-(\d*)[\t ]*$/i.exec(header ?? '')
  if (!match) return undefined
  const [, first = '', last = ''] = match
  if (first === '') return last === '' ? undefined : suffix(Number(last), size)
  const start = Number(first)
  const end = last === '' ? size - 1 : Number(last)
  if (last !== '' && end < start) return undefined
  return start < size ? { start, end: Math.min(end, size - 1) } : 'unsatisfiable'
}

function suffix(length: number, size: number): ByteRange | 'unsatisfiable' {
  return length === 0 || size === 0 ? 'unsatisfiable' : { start: Math.max(0, size - length), end: size - 1 }
}
