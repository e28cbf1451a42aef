import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import { realtimeUrl } from '../realtime/device.ts'
import { buildApp, type CallOptions, type TestApp, type TestUser } from '../support/app.ts'
import { type Answered, checkMessage } from '../support/contract.ts'
import { databaseUrl } from '../support/database-url.ts'
import { type Service, startService } from '../support/service.ts'

/** The longest time to wait for a response. */
const patienceMs = 300_000

/** Starts several instances on one database, all in this process. */
export async function buildInstances(t: Test, count: number, env = {}): Promise<[TestApp, ...TestApp[]]> {
  const first = await buildApp(t, env)
  const others: TestApp[] = []
  while (others.length < count - 1) others.push(await buildApp(t, env, { dataDir: first.dataDir }))
  return [first, ...others]
}

/** Starts an instance in a separate process, on this folder and its database. */
export async function startInstance(t: Test, dataDir: string, env: Record<string, string> = {}): Promise<Service> {
  return startService(t, dataDir, { DATABASE_URL: await databaseUrl(dataDir), LOG_LEVEL: 'error', ...env })
}

export function startInstances(t: Test, count: number, dataDir: string, env?: Record<string, string>) {
  return Promise.all(Array.from({ length: count }, () => startInstance(t, dataDir, env)))
}

/** Sends the requests to the instances in turn, and to the next after a 503 or no response. `seen` gets each response. */
export function servedBy(
  instances: readonly Service[],
  user: TestUser,
  seen: (answer: Answered, path: string) => void = () => {},
): TestUser {
  let turn = 0
  const call = async (method: string, path: string, request?: CallOptions): Promise<Answered> => {
    for (;;) {
      const instance = instances[turn++ % instances.length] as Service
      const answer = await patiently(path, instance.as(user).call(method, path, request)).catch(ifCutOff)
      if (answer) seen(answer, path)
      if (answer && answer.status !== 503) return answer
      await sleep(20)
    }
  }
  return { ...user, call }
}

async function patiently<T>(name: string, answer: Promise<T>): Promise<T> {
  const late = new AbortController()
  const tooLate = sleep(patienceMs, undefined, { signal: late.signal }).then(() => {
    throw new Error(`${name} got no response within ${patienceMs} ms`)
  })
  tooLate.catch(() => {})
  return Promise.race([answer, tooLate]).finally(() => late.abort())
}

/** Returns undefined for the TypeError that `fetch` throws when nothing listens or a connection breaks. */
function ifCutOff(error: unknown): undefined {
  if (error instanceof TypeError) return undefined
  throw error
}

export interface Follower {
  /** The entity ids of the changes that it received, and their stamps. */
  entities: string[]
  stamps: number[]
  /** The close code of each socket that was closed. */
  closeCodes: number[]
}

/** A device that reopens its socket at the next instance, from the last stamp it received, whenever it is closed. */
export function follow(
  t: Test,
  instances: readonly Service[],
  { userId, cookie }: TestUser,
  deviceId: string,
  first: number,
): Follower {
  const follower: Follower = { entities: [], stamps: [], closeCodes: [] }
  const headers = { cookie, 'x-user-id': userId, 'x-device-id': deviceId }
  let stopped = false
  let socket: WebSocket

  function open(turn: number): void {
    const { origin } = instances[turn % instances.length] as Service
    socket = new WebSocket(`${realtimeUrl(origin)}?since=${follower.stamps.at(-1) ?? 0}`, { headers })
    socket.on('message', (data) => {
      const message = checkMessage(String(data))
      if (message.type === 'ping') socket.send('{"type":"pong"}')
      if (message.type !== 'sync') return
      follower.entities.push(message.event.entity_id)
      follower.stamps.push(message.stamp)
    })
    // Refusals and broken connections emit an error, too. The `close` event below handles them.
    socket.on('error', () => {})
    socket.on('close', async (code) => {
      if (stopped) return
      follower.closeCodes.push(code)
      await sleep(20)
      if (!stopped) open(turn + 1)
    })
  }

  open(first)
  t.teardown(() => {
    stopped = true
    socket.terminate()
  })
  return follower
}
