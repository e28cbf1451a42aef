import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { createListeners, type Notices } from './notices.ts'

/** A notice that is repeated within this is sent once. */
const coalesceMs = 20
const longestPauseMs = 2_000
const aliveEveryMs = 5_000
/** Every so many of these checks, a notice to itself shows that notices arrive. */
const checksPerEcho = 6
const echoWithinMs = 5_000

/** The user's records changed, or this login of theirs ended. */
interface Notice {
  userId: string
  loginId: string | undefined
}

/** A connection over which instances hear each other. After its loss, any notice may have been missed. */
interface Line {
  lost: Promise<unknown>
  /** Resolves once they are on their way. */
  send(notices: Notice[]): Promise<unknown>
  /** Sends a text to this instance itself. */
  echo(nonce: string): Promise<unknown>
  /** Resolves once notices for these users arrive. */
  follow(userIds: string[]): Promise<unknown>
  unfollow(userId: string): void
  /** Fails if the connection has died silently. */
  check(): Promise<unknown>
  close(): Promise<unknown>
}

interface Ears {
  changed(userId: string): void
  ended(loginId: string): void
  echoed(nonce: string): void
}

export interface Carrier {
  open(ears: Ears): Promise<Line>
  /** Notices that are sent together. */
  atOnce: number
  /** Tells an operator what to do if a notice to itself does not arrive. */
  remedy: string
}

/** Reaches subscribers in this process at once, and those of other instances over a line that is opened again when lost. */
export function createSharedNotices({ open, atOnce, remedy }: Carrier, log: FastifyBaseLogger): Notices {
  const listeners = createListeners()
  const stopping = new AbortController()
  let line: Line | undefined
  let isUp = true
  const counts = { sent: 0, received: 0 }
  let heard = (_nonce: string) => {}
  const outbox = createOutbox(() => line, atOnce, log)

  const ears: Ears = {
    changed(userId) {
      counts.received++
      listeners.changed(userId)
    },
    ended(loginId) {
      counts.received++
      listeners.ended(loginId)
    },
    echoed: (nonce) => heard(nonce),
  }

  /** Runs until `close`. */
  async function listen(): Promise<void> {
    for (let pauseMs = 50; !stopping.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      let opened: Line | undefined
      try {
        opened = await open(ears)
        await hearItself(opened)
        line = opened
        await opened.follow(listeners.followed())
        if (!isUp) log.info('notices arrive again')
        isUp = true
        listeners.missed()
        outbox.flush()
        pauseMs = 50
        await Promise.race([opened.lost, stayAlive(opened)])
      } catch (err) {
        log.warn({ err }, 'notices cannot be received, retrying')
      }
      isUp = stopping.signal.aborted
      line = undefined
      await opened?.close().catch(() => {})
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  async function stayAlive(opened: Line): Promise<void> {
    for (let check = 1; !stopping.signal.aborted; check++) {
      await sleep(aliveEveryMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      if (stopping.signal.aborted || line !== opened) return
      if (check % checksPerEcho === 0) await hearItself(opened)
      else await opened.check()
    }
  }

  async function hearItself(opened: Line): Promise<void> {
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
  }

  const listening = listen()
  return {
    publishChange(userId) {
      counts.sent++
      listeners.changed(userId)
      outbox.add({ userId, loginId: undefined })
    },
    publishEnd(login) {
      counts.sent++
      listeners.ended(login.loginId)
      outbox.add(login)
    },
    subscribe: listeners.subscribe,
    follow(userId, changed) {
      const stop = listeners.follow(userId, changed)
      // Without a line, the next one follows all, and what was missed until then is made up for.
      const ready = line?.follow([userId]).then(
        () => {},
        () => {},
      )
      return {
        ready: ready ?? Promise.resolve(),
        stop() {
          stop()
          if (!listeners.isFollowed(userId)) line?.unfollow(userId)
        },
      }
    },
    isUp: () => isUp,
    counts: () => counts,
    async close() {
      await outbox.flushed()
      stopping.abort()
      await listening
    },
  }
}

interface Outbox {
  add(notice: Notice): void
  /** Sends what waits. */
  flush(): void
  /** Resolves when nothing is being sent. */
  flushed(): Promise<void>
}

/** Unsent notices wait for the next line: other instances notice the loss of theirs, but not the loss of ours. */
function createOutbox(line: () => Line | undefined, atOnce: number, log: FastifyBaseLogger): Outbox {
  const waiting = new Map<string, Notice>()
  let flushing: Promise<void> | undefined

  function flush(): void {
    if (waiting.size > 0) flushing ??= sendAll()
  }

  async function sendAll(): Promise<void> {
    do {
      await sleep(coalesceMs)
      const current = line()
      if (!current) break
      const batch = [...waiting].slice(0, atOnce)
      for (const [key] of batch) waiting.delete(key)
      try {
        await current.send(batch.map(([, notice]) => notice))
      } catch (err) {
        log.warn({ err }, 'a notice could not be sent')
        for (const [key, notice] of batch) waiting.set(key, notice)
        // A new line may have been opened before this one failed.
        if (line() === current) break
      }
    } while (waiting.size > 0)
    flushing = undefined
  }

  return {
    add(notice) {
      waiting.set(`${notice.userId} ${notice.loginId}`, notice)
      flush()
    },
    flush,
    flushed: async () => flushing,
  }
}
