import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { LoginKey } from '../db/tables/logins.ts'

/** Repeated notifications within this time (ms) are sent once. */
const coalesceMs = 20
const longestPauseMs = 2_000
const aliveEveryMs = 5_000
/** Checks of the connection for each test notification that the service sends to itself. */
const checksPerEcho = 6
const echoWithinMs = 5_000

/** Notifies all instances of changes, ended logins and waiting jobs. A lost notification only causes delay. */
export interface Notices {
  /** The user's records changed. */
  publishChange(userId: string): void
  /** A login ended: its sockets and unfinished responses must be closed. */
  publishEnd(login: LoginKey): void
  /** An export waits for an instance that makes it. */
  publishJob(): void
  /** Subscribes to jobs, and to ended logins of all users whose notifications arrive here. */
  subscribe(subscriber: Subscriber): void
  /** Notifications for the user arrive from `ready` until `stop`. Calls `changed` for their changes. */
  follow(userId: string, changed?: () => void): Following
  /** True while notifications of other instances arrive. */
  isUp(): boolean
  /** The numbers sent, and received from other instances, since the start. */
  counts(): Record<'sent' | 'received', number>
  close(): Promise<void>
}

export interface Subscriber {
  ended?(loginId: string): void
  jobWaits?(): void
  /** Notifications may have been lost, so everything must be checked. */
  missed(): void
}

export interface Following {
  ready: Promise<void>
  stop(): void
}

/** An export waits, the user's records changed, or (with `loginId`) a login of the user ended. */
export type Notice = 'job' | { userId: string; loginId: string | undefined }

/** A connection to the other instances. When it is lost, any notification may have been missed. */
interface Connection {
  lost: Promise<unknown>
  /** Resolves once they are sent. */
  send(notices: Notice[]): Promise<unknown>
  /** Sends a text to this instance. */
  echo(nonce: string): Promise<unknown>
  /** Resolves once notifications for these users arrive. */
  follow(userIds: string[]): Promise<unknown>
  unfollow(userId: string): void
  /** Fails if the connection is dead. */
  check(): Promise<unknown>
  close(): Promise<unknown>
}

interface Receiver {
  changed(userId: string): void
  ended(loginId: string): void
  jobWaits(): void
  echoed(nonce: string): void
}

export interface Carrier {
  open(receiver: Receiver): Promise<Connection>
  /** The most notifications that are sent together. */
  atOnce: number
  /** Advice to the operator if test notifications do not arrive. */
  remedy: string
}

/** Delivers notifications in this process at once, and over a carrier to and from others. Reopens lost connections. */
export function createNotices(log: FastifyBaseLogger, carrier?: Carrier): Notices {
  const listeners = createListeners()
  const stopping = new AbortController()
  let connection: Connection | undefined
  let isUp = true
  const counts = { sent: 0, received: 0 }
  const echo = createEcho()
  const outbox = carrier && createOutbox(() => connection, carrier.atOnce, log)

  const receiver: Receiver = {
    changed(userId) {
      counts.received++
      listeners.changed(userId)
    },
    ended(loginId) {
      counts.received++
      listeners.ended(loginId)
    },
    jobWaits() {
      counts.received++
      listeners.jobWaits()
    },
    echoed: echo.arrived,
  }

  /** Runs until `close`. */
  async function listen({ open, remedy }: Carrier): Promise<void> {
    for (let pauseMs = 50; !stopping.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      let opened: Connection | undefined
      try {
        opened = await open(receiver)
        await echo.test(opened, remedy)
        connection = opened
        await opened.follow(listeners.followed())
        if (!isUp) log.info('notices arrive again')
        isUp = true
        listeners.missed()
        outbox?.flush()
        pauseMs = 50
        await Promise.race([opened.lost, stayAlive(opened, remedy)])
      } catch (err) {
        log.warn({ err }, 'notices cannot be received, retrying')
      }
      isUp = stopping.signal.aborted
      connection = undefined
      await opened?.close().catch(() => {})
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  async function stayAlive(opened: Connection, remedy: string): Promise<void> {
    for (let check = 1; !stopping.signal.aborted; check++) {
      await sleep(aliveEveryMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      if (stopping.signal.aborted || connection !== opened) return
      if (check % checksPerEcho === 0) await echo.test(opened, remedy)
      else await opened.check()
    }
  }

  const listening = carrier && listen(carrier)
  return {
    publishChange(userId) {
      counts.sent++
      listeners.changed(userId)
      outbox?.add({ userId, loginId: undefined })
    },
    publishEnd(login) {
      counts.sent++
      listeners.ended(login.loginId)
      outbox?.add(login)
    },
    publishJob() {
      counts.sent++
      listeners.jobWaits()
      outbox?.add('job')
    },
    subscribe: listeners.subscribe,
    follow(userId, changed) {
      const stop = listeners.follow(userId, changed)
      // If the connection is down, the next one follows all users and makes up for what was missed.
      const ready = connection?.follow([userId]).then(
        () => {},
        () => {},
      )
      return {
        ready: ready ?? Promise.resolve(),
        stop() {
          stop()
          if (!listeners.isFollowed(userId)) connection?.unfollow(userId)
        },
      }
    },
    isUp: () => isUp,
    counts: () => counts,
    async close() {
      await outbox?.flushed()
      stopping.abort()
      await listening
    },
  }
}

/** Opens a carrier for a moment. Rejects if a notification to this process does not arrive. */
export async function tryCarrier({ open, remedy }: Carrier): Promise<void> {
  const echo = createEcho()
  const ignore = () => {}
  const opened = await open({ changed: ignore, ended: ignore, jobWaits: ignore, echoed: echo.arrived })
  try {
    await echo.test(opened, remedy)
  } finally {
    await opened.close()
  }
}

function createEcho() {
  let heard = (_nonce: string) => {}
  return {
    arrived: (nonce: string) => heard(nonce),
    /** Sends a notification to this process. Rejects if it does not arrive. */
    async test(opened: Connection, remedy: string): Promise<void> {
      const nonce = randomUUID()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      heard = (arrived) => arrived === nonce && resolve()
      const unheard = new Error(`a notice to itself did not arrive: ${remedy}`)
      const late = setTimeout(() => reject(unheard), echoWithinMs)
      try {
        await Promise.all([promise, opened.echo(nonce)])
      } finally {
        clearTimeout(late)
      }
    },
  }
}

/** The followers in this process. A change only reaches the followers of its user. */
function createListeners() {
  const subscribers = new Set<Subscriber>()
  const followers = new Map<string, Set<{ changed: () => void }>>()
  return {
    subscribe: (subscriber: Subscriber): void => void subscribers.add(subscriber),
    /** Returns a function that stops following. */
    follow(userId: string, changed = () => {}): () => void {
      const follower = { changed }
      const ofUser = followers.get(userId) ?? new Set()
      followers.set(userId, ofUser.add(follower))
      return () => {
        if (ofUser.delete(follower) && ofUser.size === 0) followers.delete(userId)
      }
    },
    followed: (): string[] => [...followers.keys()],
    isFollowed: (userId: string): boolean => followers.has(userId),
    changed(userId: string): void {
      for (const follower of followers.get(userId) ?? []) follower.changed()
    },
    ended(loginId: string): void {
      for (const subscriber of subscribers) subscriber.ended?.(loginId)
    },
    jobWaits(): void {
      for (const subscriber of subscribers) subscriber.jobWaits?.()
    },
    missed(): void {
      for (const subscriber of subscribers) subscriber.missed()
    },
  }
}

/** Unsent notifications wait for the next connection: other instances do not notice that this one's was lost. */
function createOutbox(connection: () => Connection | undefined, atOnce: number, log: FastifyBaseLogger) {
  const waiting = new Map<string, Notice>()
  let flushing: Promise<void> | undefined

  function flush(): void {
    if (waiting.size > 0) flushing ??= sendAll()
  }

  async function sendAll(): Promise<void> {
    do {
      await sleep(coalesceMs)
      const current = connection()
      if (!current) break
      const batch = [...waiting].slice(0, atOnce)
      for (const [key] of batch) waiting.delete(key)
      try {
        await current.send(batch.map(([, notice]) => notice))
      } catch (err) {
        log.warn({ err }, 'a notice could not be sent')
        for (const [key, notice] of batch) waiting.set(key, notice)
        // A new connection may have been opened before this one failed.
        if (connection() === current) break
      }
    } while (waiting.size > 0)
    flushing = undefined
  }

  return {
    add(notice: Notice): void {
      waiting.set(notice === 'job' ? notice : `${notice.userId} ${notice.loginId}`, notice)
      flush()
    },
    /** Sends what waits. */
    flush,
    /** Resolves when nothing is being sent. */
    flushed: async () => flushing,
  }
}
