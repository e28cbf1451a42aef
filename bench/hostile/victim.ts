import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, type Dispatcher, request } from 'undici'
import { v7 as uuidv7 } from 'uuid'
import WebSocket from 'ws'
import { operations } from '../../generated/operations.ts'
import type { OperationId, Schemas } from '../../src/service/contract/schemas.ts'
import type { Person } from './accounts.ts'

/** Pauses between calls. Together, the calls stay below the user's rate limit of 20 requests a second. */
const pushEveryMs = 120
const everyMs = 1_000
const loginEveryMs = 2_000
const pingEveryMs = 250
/** A call fails after this time, when a person would have given up. */
const patienceMs = 20_000

export interface VictimTimes {
  /** How long each call took, and how long a change took to reach the other device, in ms. */
  times: number[]
  /** Unsuccessful responses. */
  refused: number
  /** Calls without an answer, and changes that did not arrive. */
  lost: number
}

export interface Victim {
  work(until: Promise<unknown>): Promise<VictimTimes>
  close(): Promise<void>
}

/** A user whose laptop pushes, and whose phone makes the other calls and receives the changes by WebSocket. */
export async function startVictim(port: number, { userId, session }: Person): Promise<Victim> {
  const origin = `http://127.0.0.1:${port}`
  const timeouts = { headersTimeout: patienceMs, bodyTimeout: patienceMs, connectTimeout: patienceMs }
  const kept = new Agent(timeouts)
  const cookie = `service_session=${session}`
  const arrivals = new Map<string, () => void>()
  const headers = { cookie, 'x-user-id': userId, 'x-device-id': 'phone' }
  const socket = new WebSocket(`ws://127.0.0.1:${port}${operations.openRealtime.path}`, { headers })
  socket.on('error', () => {})
  socket.on('message', (data) => {
    const message = JSON.parse(data.toString())
    if (message.type === 'sync') arrivals.get(message.event.id)?.()
    // A client that does not answer pings is disconnected.
    if (message.type === 'ping') socket.send(JSON.stringify({ type: 'pong' }))
  })
  const closed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(false)))
  await once(socket, 'message')
  let since = 0

  async function call(operation: OperationId, body?: object) {
    const { method, path } = operations[operation]
    // Each status request opens a new connection, so that connecting is measured, too.
    const dispatcher = operation === 'getSyncStatus' ? new Agent(timeouts) : kept
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    try {
      const signal = AbortSignal.timeout(patienceMs)
      const payload = body === undefined ? null : JSON.stringify(body)
      const device = { cookie, 'x-device-id': operation === 'pushChanges' ? 'laptop' : 'phone' }
      const own = { ...(operation !== 'startLogin' && device), ...json }
      const answer = await request(origin + path, { method, headers: own, body: payload, dispatcher, signal })
      if (answer.statusCode > 299) await answer.body.dump()
      return answer
    } finally {
      if (dispatcher !== kept) void dispatcher.close()
    }
  }

  async function push(felt: VictimTimes): Promise<void> {
    const change = newChange()
    const start = performance.now()
    const { promise: arrived, resolve } = Promise.withResolvers<void>()
    arrivals.set(change.id, resolve)
    const { statusCode, body } = await call('pushChanges', { changes: [change] })
    if (statusCode === 200) await body.dump()
    felt.times.push(performance.now() - start)
    if (statusCode > 299) felt.refused++
    else if (await isInTime(arrived)) felt.times.push(performance.now() - start)
    else felt.lost++
    arrivals.delete(change.id)
  }

  async function pull(felt: VictimTimes): Promise<void> {
    await ask(felt, 'pullChanges', { since }, async (body) => {
      since = ((await body.json()) as Schemas['PullResponse']).last_sync_timestamp
    })
  }

  async function ask(
    felt: VictimTimes,
    operation: OperationId,
    sent?: object,
    take: (body: Body) => Promise<void> = dump,
  ): Promise<void> {
    const start = performance.now()
    const { statusCode, body } = await call(operation, sent)
    if (statusCode > 299) felt.refused++
    else await take(body)
    felt.times.push(performance.now() - start)
  }

  async function ping(felt: VictimTimes): Promise<void> {
    const start = performance.now()
    const { statusCode, body } = await request(`${origin}/livez`, {
      dispatcher: kept,
      signal: AbortSignal.timeout(patienceMs),
    })
    await body.dump()
    felt.times.push(performance.now() - start)
    if (statusCode > 299) felt.refused++
  }

  return {
    async work(until) {
      const felt: VictimTimes = { times: [], refused: 0, lost: 0 }
      let isOver = false
      const over = () => {
        isOver = true
      }
      until.then(over, over)
      const repeat = async (pauseMs: number, work: (felt: VictimTimes) => Promise<void>) => {
        for (; !isOver; await sleep(pauseMs)) {
          const start = performance.now()
          await work(felt).catch(() => {
            felt.lost++
            felt.times.push(performance.now() - start)
          })
        }
      }
      await Promise.all([
        repeat(pushEveryMs, push),
        repeat(everyMs, pull),
        repeat(everyMs, (felt) => ask(felt, 'getSyncStatus')),
        repeat(everyMs, (felt) => ask(felt, 'listBookmarks')),
        repeat(pingEveryMs, ping),
        repeat(loginEveryMs, (felt) => ask(felt, 'startLogin', newReturnTo())),
      ])
      return felt
    },
    async close() {
      socket.terminate()
      await kept.destroy()
    },
  }

  async function isInTime(arrived: Promise<void>): Promise<boolean> {
    const late = sleep(patienceMs, false, { ref: false })
    return Promise.race([arrived.then(() => true), late, closed])
  }
}

type Body = Dispatcher.ResponseData['body']

async function dump(body: Body): Promise<void> {
  await body.dump()
}

/** A return path of realistic length, different in each call. */
function newReturnTo(): { returnTo: string } {
  return { returnTo: `/bookmarks/${uuidv7()}?sort=newest&from=sign-in` }
}

function newChange(): Schemas['Change'] {
  const own = { id: uuidv7(), entity_id: uuidv7(), timestamp: Date.now(), device_id: 'laptop' }
  const content = { encrypted_data: 'x'.repeat(700), data_hash: 'h'.repeat(64) }
  return { ...own, entity_type: 'bookmark', operation: 'create', ...content }
}
