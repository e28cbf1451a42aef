import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { operations } from '../../generated/operations.ts'
import type { OperationId } from '../../src/service/contract/schemas.ts'
import type { Person } from './accounts.ts'
import type { AttackTarget } from './attack.ts'

const host = '127.0.0.1'
/** An address of this machine that the victim does not use, because some limits count by address. */
const localAddress = '127.0.0.2'
const servedPauseMs = 20
const refusedPauseMs = 1_000
const dispatcher = new Agent({ localAddress, headersTimeout: 0, bodyTimeout: 0 })

export interface Sent {
  operation: OperationId
  path?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

/** Sends a request and reads the response. */
export async function send(target: AttackTarget, { operation, path, headers = {}, body }: Sent) {
  const { method, path: template } = operations[operation]
  const url = `http://${host}:${target.port}${path ?? template}`
  const own = {
    ...credentials(target, operation),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  }
  const answer = await request(url, { method, headers: own, body: body ?? null, dispatcher })
  return { status: answer.statusCode, text: await answer.body.text() }
}

/** Starts callers. Each calls again 20 ms after a successful response, and 1 s after a failed call. */
export function repeat(callers: number, call: () => Promise<{ status: number }>): void {
  for (let caller = 0; caller < callers; caller++) void loop()
  async function loop(): Promise<void> {
    for (;;) {
      const isServed = await call().then(
        ({ status }) => status < 300,
        () => false,
      )
      await sleep(isServed ? servedPauseMs : refusedPauseMs)
    }
  }
}

/** Sends a request and never reads the response. Sends it again a second after the connection has closed (`keepOpen`). */
export function sendUnread(target: AttackTarget, sent: Sent & { body?: string }): void {
  keepOpen(target, requestText(target, sent) + (sent.body ?? ''), (socket) => socket.pause())
}

/** Sends a request several times on one connection without waiting for the responses, and reads them. */
export function sendAtOnce(target: AttackTarget, sent: Sent, times: number): void {
  const socket = connect({ host, port: target.port, localAddress }, () => {
    socket.end(requestText(target, sent).repeat(times))
    socket.resume()
  })
  socket.on('error', () => {})
}

/** Sends a request without the last byte of its body. */
export function sendUnfinished(target: AttackTarget, sent: Sent & { body: Buffer }): void {
  const head = requestText(target, sent)
  keepOpen(target, Buffer.concat([Buffer.from(head), sent.body.subarray(0, -1)]), (socket) => socket.resume())
}

/** Opens connections and, every second, sends a request on all of them at once. Reads the responses. */
export function sendInBursts(target: AttackTarget, sent: Sent & { body: Buffer }, connections: number): void {
  const bytes = Buffer.concat([Buffer.from(requestText(target, sent)), sent.body])
  const open = Array.from({ length: connections }, () => {
    const socket = connect({ host, port: target.port, localAddress })
    return socket.on('error', () => {}).resume()
  })
  setInterval(() => {
    for (const socket of open) socket.write(bytes)
  }, 1_000)
}

/** Opens a WebSocket and discards what it receives. */
export function openSocket(target: AttackTarget, since: number, device: string): void {
  keepOpen(target, upgradeText(target, since, device), (socket) => socket.resume())
}

export function upgradeText(target: Caller, since: number | undefined, device: string): string {
  const path = operations.openRealtime.path + (since === undefined ? '' : `?since=${since}`)
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const key = { 'sec-websocket-key': Buffer.alloc(16).toString('base64') }
  const own = { 'x-user-id': target.attacker.userId, 'x-device-id': device }
  return requestText(target, { operation: 'openRealtime', path, headers: { ...upgrade, ...key, ...own } })
}

interface Caller {
  port: number
  attacker: Pick<Person, 'userId' | 'session'>
}

/** Opens a connection, and another one a second after it closes. */
function keepOpen(target: AttackTarget, bytes: string | Buffer, opened: (socket: Socket) => void): void {
  const socket = connect({ host, port: target.port, localAddress }, () => {
    socket.write(bytes)
    opened(socket)
  })
  socket.on('error', () => {})
  socket.on('close', () => setTimeout(() => keepOpen(target, bytes, opened), refusedPauseMs))
}

function requestText(target: Caller, { operation, path, headers = {}, body }: Sent): string {
  const { method, path: template } = operations[operation]
  const json = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': `${body.length}` }
  const all = { host: `${host}:${target.port}`, ...credentials(target, operation), ...json, ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path ?? template} HTTP/1.1\r\n${lines.join('')}\r\n`
}

function credentials({ attacker }: Pick<Caller, 'attacker'>, operation: OperationId): Record<string, string> {
  return operation === 'startLogin' ? {} : { cookie: `service_session=${attacker.session}` }
}
