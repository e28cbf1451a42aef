import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { operations } from '../../../generated/operations.ts'
import { type Answer, type Call, type Forward, isCallOf, replaced, withBody } from './call.ts'
import { withRival } from './rival.ts'

export interface Scenario {
  does: string
  answer?: (call: Call, forward: Forward) => Promise<Answer>
  /** Called for a WebSocket before its handshake. */
  connect?: (socket: Duplex) => void
}

const dropAfterMs = 2_000
const slowRefreshMs = 2_000

/** The values of `x-scenario`. The service answers whatever a scenario does not change. */
export const scenarios: Record<string, Scenario> = {
  conflict: { does: 'a push meets a newer change of another device: it loses', answer: withRival },
  'next-page': { does: 'a pull returns one change a page', answer: oneChangeAPage },
  'expired-session': { does: 'the session has expired, a refresh helps', answer: expireOnce },
  'refresh-race': { does: 'the session has expired, and the refresh takes 2 s', answer: slowRefresh },
  'signed-out': { does: 'the session has expired, and a refresh does not help', answer: signedOut },
  'export-processing': {
    does: 'no export gets finished',
    answer: (call, forward) => exportsAre('processing', call, forward),
  },
  'export-failed': { does: 'every export has failed', answer: (call, forward) => exportsAre('failed', call, forward) },
  '429': {
    does: 'every call is one too many',
    answer: (call, forward) => refuse(429, 'Too many requests', call, forward),
  },
  '503': {
    does: 'the service is not available',
    answer: (call, forward) => refuse(503, 'Service unavailable', call, forward),
  },
  'socket-drop': { does: 'the realtime socket breaks off after 2 s', connect: drop },
  'socket-silence': { does: 'the realtime socket opens, and nothing more is heard', connect: silence },
}

async function oneChangeAPage(call: Call, forward: Forward): Promise<Answer> {
  if (!isCallOf('pullChanges', call)) return forward(call)
  const body = call.payload.length === 0 ? {} : JSON.parse(call.payload.toString())
  return forward(withBody(call, { ...body, limit: 1 }))
}

/** Session tokens that a refresh issued. Earlier ones have expired. */
const refreshed = new Set<string>()

/** A session has expired unless it was refreshed in this scenario. */
async function expireOnce(call: Call, forward: Forward): Promise<Answer> {
  if (isCallOf('refreshSession', call)) {
    const answer = await forward(call)
    for (const token of tokensIn([answer.headers['set-cookie'] ?? []].flat().join(';'))) refreshed.add(token)
    return answer
  }
  const { cookie = '' } = call.headers
  const isRefreshed = tokensIn(cookie).some((token) => refreshed.has(token))
  return forward(
    isRefreshed ? call : withCookie(call, cookie.replace(/service_session=[^;]*/g, 'service_session=expired')),
  )
}

function withCookie(call: Call, cookie: string): Call {
  return { ...call, headers: { ...call.headers, cookie } }
}

function tokensIn(cookies: string): string[] {
  return [...cookies.matchAll(/service_session=([^;,\s]+)/g)].map(([, token = '']) => token)
}

async function slowRefresh(call: Call, forward: Forward): Promise<Answer> {
  if (isCallOf('refreshSession', call)) await sleep(slowRefreshMs)
  return expireOnce(call, forward)
}

async function signedOut(call: Call, forward: Forward): Promise<Answer> {
  return forward(withCookie(call, 'service_session=expired; service_refresh=expired'))
}

async function exportsAre(status: 'processing' | 'failed', call: Call, forward: Forward): Promise<Answer> {
  const answer = await forward(call)
  if (answer.status !== 200) return answer
  if (isCallOf('downloadExport', call)) return replaced(answer, 400, { error: 'Export not ready for download' })
  if (!isCallOf('listExports', call)) return answer
  const { exports } = JSON.parse(answer.body.toString()) as { exports: object[] }
  const unfinished = { status, size_bytes: null, bookmark_count: null, expires_at: null }
  return replaced(answer, 200, { exports: exports.map((one) => ({ ...one, ...unfinished })) })
}

/** The call does not reach its operation. The health report's answer provides the other headers. */
async function refuse(status: number, error: string, { headers }: Call, forward: Forward): Promise<Answer> {
  const { origin } = headers
  const { path: url, method } = operations.getHealth
  const health = await forward({
    method,
    url,
    headers: origin === undefined ? {} : { origin },
    payload: Buffer.alloc(0),
  })
  return replaced(health, status, { error }, { 'retry-after': '1' })
}

function drop(socket: Duplex): void {
  setTimeout(() => socket.destroy(), dropAfterMs).unref()
}

/** Only the first write, the handshake's answer, gets through. */
function silence(socket: Duplex): void {
  const write = socket.write.bind(socket)
  socket.write = ((...written: Parameters<Duplex['write']>) => {
    socket.write = () => true
    return write(...written)
  }) as Duplex['write']
}
