import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import pg from 'pg'
import { createLocalPulse } from './local.ts'
import type { Pulse, Subscriber } from './pulse.ts'

const channel = 'ebs_pulse'
const coalesceMs = 20
const unheard =
  'a pulse to itself did not arrive: behind a pooler, PULSE_DATABASE_URL must name a direct connection to the database'
/** A payload holds up to 8,000 bytes; each item is a letter and an id of 36 characters. */
const idsAtOnce = 150
const longestPauseMs = 2_000
const aliveEveryMs = 5_000
/** Every so many of these checks, a pulse to itself shows that pulses arrive: over a pooler, LISTEN hears nothing. */
const checksPerEcho = 6
const echoWithinMs = 5_000
/** Begins what an instance sends to itself, which the others pass over. */
const echo = 'n'

/**
 * Reaches all instances by LISTEN and NOTIFY, on its own connection: a NOTIFY inside a write's transaction would take a
 * lock that all writers share. After a lost connection, any pulse may have been missed.
 */
export function createPostgresPulse(url: string, log: FastifyBaseLogger): Pulse {
  const local = createLocalPulse()
  const subscribers = new Set<Subscriber>()
  const instance = randomUUID()
  const waiting = new Set<string>()
  const stopping = new AbortController()
  let connection: pg.Client | undefined
  let isUp = true
  let received = 0
  let heard = (_nonce: string) => {}
  let flushing: Promise<void> | undefined

  function announce(item: string): void {
    waiting.add(item)
    flushing ??= flush()
  }

  /** Unsent items wait for the next connection: other instances notice the loss of theirs, but not the loss of ours. */
  async function flush(): Promise<void> {
    do {
      await sleep(coalesceMs)
      if (!connection) break
      const items = [...waiting].slice(0, idsAtOnce)
      for (const item of items) waiting.delete(item)
      try {
        await connection.query('SELECT pg_notify($1, $2)', [channel, [instance, ...items].join(' ')])
      } catch (err) {
        log.warn({ err }, 'a pulse could not be sent')
        for (const item of items) waiting.add(item)
        break
      }
    } while (waiting.size > 0)
    flushing = undefined
  }

  function receive({ payload = '' }: pg.Notification): void {
    const [sender, ...items] = payload.split(' ')
    if (sender === instance) {
      heard(items[0] ?? '')
      return
    }
    if (items[0]?.startsWith(echo)) return
    received += items.length
    for (const item of items) {
      const id = item.slice(1)
      for (const subscriber of subscribers) item[0] === 'c' ? subscriber.changed(id) : subscriber.ended(id)
    }
  }

  /** Runs until the pulse is closed. A regular query detects a connection that has died silently. */
  async function listen(): Promise<void> {
    for (let pauseMs = 50; !stopping.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      const client = new pg.Client({
        connectionString: url,
        application_name: 'encrypted-bookmark-sync pulse',
        keepAlive: true,
        connectionTimeoutMillis: 5_000,
        query_timeout: 5_000,
      })
      const lost = new Promise<void>((resolve) => client.once('end', resolve))
      client.on('error', (err) => log.warn({ err }, 'the connection for pulses was lost'))
      client.on('notification', receive)
      try {
        await client.connect()
        await client.query(`LISTEN ${channel}`)
        await hearItself(client)
        if (!isUp) log.info('pulses arrive again')
        isUp = true
        connection = client
        for (const subscriber of subscribers) subscriber.missed()
        if (waiting.size > 0) flushing ??= flush()
        pauseMs = 50
        await Promise.race([lost, stayAlive(client)])
      } catch (err) {
        log.warn({ err }, 'pulses cannot be received, retrying')
      }
      isUp = stopping.signal.aborted
      connection = undefined
      client.removeAllListeners('notification')
      await client.end().catch(() => {})
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  async function stayAlive(client: pg.Client): Promise<void> {
    for (let check = 1; !stopping.signal.aborted; check++) {
      await sleep(aliveEveryMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      if (stopping.signal.aborted) return
      if (check % checksPerEcho === 0) await hearItself(client)
      else await client.query('SELECT 1')
    }
  }

  async function hearItself(client: pg.Client): Promise<void> {
    const nonce = `${echo}${randomUUID()}`
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    heard = (arrived) => arrived === nonce && resolve()
    const late = setTimeout(() => reject(new Error(unheard)), echoWithinMs)
    try {
      await Promise.all([promise, client.query('SELECT pg_notify($1, $2)', [channel, `${instance} ${nonce}`])])
    } finally {
      clearTimeout(late)
    }
  }

  const listening = listen()
  return {
    publishChange(userId) {
      local.publishChange(userId)
      announce(`c${userId}`)
    },
    publishEnd(loginId) {
      local.publishEnd(loginId)
      announce(`e${loginId}`)
    },
    subscribe(subscriber) {
      local.subscribe(subscriber)
      subscribers.add(subscriber)
    },
    isUp: () => isUp,
    counts: () => ({ ...local.counts(), received }),
    async close() {
      await flushing
      stopping.abort()
      await listening
      await local.close()
    },
  }
}
