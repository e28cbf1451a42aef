import type { Writable } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { WebSocket } from 'ws'
import { closeCodes, pingSeconds } from '../../../generated/channel.ts'
import type { Limits } from '../load/rates.ts'
import { createTurns } from '../load/turns.ts'
import type { Notices } from '../notices/notices.ts'
import { Connection, type ConnectionEvents, checkEveryMs, type Peer } from './connection.ts'
import {
  type Audience,
  createAudience,
  type DeliveryParts,
  deliver,
  type Pace,
  sweep,
  sweepEveryMs,
} from './delivery.ts'

const pingEveryMs = pingSeconds * 1000
/** Concurrent readers. Each holds a page of changes in memory. */
const readers = 2
/** Milliseconds between pages of a user who has reached the rate limit. */
const restMs = 1000

export type Hub = ReturnType<typeof createHub>

interface HubParts extends DeliveryParts {
  notices: Pick<Notices, 'subscribe' | 'follow'>
  limits: Pick<Limits, 'spend'>
  log: FastifyBaseLogger
}

/**
 * All sockets of this process. After a notification, a user's new changes are read, and each socket continues from its
 * own cursor. A turn (load/turns.ts) handles one page of one user, so that long or many replays do not delay others.
 */
export function createHub({ log, clock, database, limits, notices }: HubParts) {
  const users = new Map<string, Audience>()
  const failed = new Set<string>()
  const unfinished = new Set<Promise<void>>()
  const stop = new AbortController()

  const turns = createTurns<string>(readers, async (userId) => {
    try {
      const audience = users.get(userId)
      const more = audience !== undefined && (await deliver({ clock, database }, userId, audience))
      if (!more) return
      // A page of a replay counts as a request.
      if (limits.spend(userId, 1) === undefined) turns.add(userId)
      else setTimeout(() => turns.add(userId), restMs).unref()
    } catch (err) {
      reportFirst(err)
      failed.add(userId)
    }
  })

  let sweepFailed = false
  const sweeps = createTurns<Pace>(2, async (pace) => {
    try {
      await sweep({ clock, database }, users, { pace, announce, stop: stop.signal })
    } catch (err) {
      reportFirst(err)
      sweepFailed = true
    }
  })

  function reportFirst(err: unknown): void {
    if (failed.size === 0 && !sweepFailed) log.error({ err }, 'changes could not be read, retrying')
  }

  function announce(userId: string): void {
    const audience = users.get(userId)
    if (!audience) return
    audience.news++
    turns.add(userId)
  }

  function retry(): void {
    const again = [...failed]
    failed.clear()
    for (const userId of again) turns.add(userId)
    if (sweepFailed) sweeps.add('at once')
    sweepFailed = false
  }

  function* connections(): Generator<Connection> {
    for (const { connections } of users.values()) yield* connections
  }

  const every = (ms: number, action: () => void) => setInterval(action, ms).unref()
  const timers = [
    every(checkEveryMs, () => {
      for (const connection of connections()) connection.check()
      retry()
    }),
    every(pingEveryMs, () => {
      for (const connection of connections()) connection.ping()
    }),
    every(sweepEveryMs, () => sweeps.add('spaced')),
  ]
  notices.subscribe({
    ended(loginId) {
      for (const connection of connections()) {
        if (connection.peer.loginId === loginId) connection.close(closeCodes.signedOut)
      }
    },
    missed: () => sweeps.add('at once'),
  })

  const events: ConnectionEvents = {
    drained: ({ peer }) => turns.add(peer.userId),
    failed: (err) => log.debug({ err }, 'a socket failed'),
    ended(connection) {
      const { userId } = connection.peer
      const audience = users.get(userId)
      audience?.connections.delete(connection)
      if (audience?.connections.size === 0) {
        users.delete(userId)
        audience.following.stop()
      }
      if (connection.work) finish(connection.work)
    },
  }

  /** Keeps track of the running work of ended sockets, for which `close` waits. */
  function finish(work: Promise<void>): void {
    unfinished.add(work)
    work.finally(() => unfinished.delete(work))
  }

  return {
    /** Greets the socket, replays the changes that it missed, and sends it all later ones. */
    open(socket: WebSocket, stream: Writable, peer: Peer): Connection {
      const connection = new Connection(socket, stream, peer, events)
      const { userId } = peer
      const audience = users.get(userId) ?? createAudience(notices.follow(userId, () => announce(userId)))
      audience.connections.add(connection)
      users.set(userId, audience)
      if (stop.signal.aborted) connection.close(closeCodes.stopping)
      // No change after the greeting can be missed once notifications arrive.
      else audience.following.ready.then(() => turns.add(userId))
      return connection
    },
    sockets: () => [...connections()].length,
    socketsOf: (userId: string) => users.get(userId)?.connections.size ?? 0,
    /** The logins of the user's open sockets. */
    loginsOf: (userId: string) =>
      [...(users.get(userId)?.connections ?? [])].flatMap(({ open, peer }) => (open ? [peer.loginId] : [])),
    /** Unsent bytes of all sockets. */
    unsentBytes: () => [...connections()].reduce((sum, { unsentBytes }) => sum + unsentBytes, 0),
    /** Closes every socket, and waits until the messages of their clients are processed. */
    async close(): Promise<void> {
      stop.abort()
      for (const timer of timers) clearInterval(timer)
      const open = [...connections()]
      for (const connection of open) connection.close(closeCodes.stopping)
      await Promise.all([sweeps.close(), turns.close(), ...open.map((connection) => connection.ended())])
      await Promise.all(unfinished)
    },
  }
}
