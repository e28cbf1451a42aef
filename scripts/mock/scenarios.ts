import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { closeCodes } from '../../generated/channel.ts'
import { ExportNotReady, TooManyRequests, Unavailable } from '../../generated/errors.ts'
import { type Forward, fieldsOf, isCallOf, type MockAnswer, type MockCall, replaced, withBody } from './call.ts'
import { refuse, refuseDuplicates, refuseOldSignIns, refuseSockets, refuseStoring, withRival } from './refusals.ts'

export interface Scenario {
  does: string
  answer?: (call: MockCall, forward: Forward) => Promise<MockAnswer>
  /** Called for a WebSocket before its handshake. */
  connect?: Connect
}

const slowRefreshMs = 2_000

/** The scenarios by the value of `x-scenario`. The service answers everything that a scenario does not change. */
export const scenarios: Record<string, Scenario> = {
  conflict: { does: 'a push meets a newer change of another device: it loses', answer: withRival },
  'next-page': { does: 'a pull returns one change a page', answer: oneChangeAPage },
  'expired-session': { does: 'the session has expired, a refresh helps', answer: expireOnce },
  'refresh-race': { does: 'the session has expired, and the refresh takes 2 s', answer: slowRefresh },
  'signed-out': { does: 'the session has expired, and a refresh does not help', answer: signedOut },
  'old-sign-in': { does: 'the sign-in is not recent: what cannot be undone is refused', answer: refuseOldSignIns },
  'export-processing': {
    does: 'exports never finish',
    answer: (call, forward) => exportsAre('processing', call, forward),
  },
  'export-failed': { does: 'every export has failed', answer: (call, forward) => exportsAre('failed', call, forward) },
  '409': {
    does: "a new bookmark's id is in use, and so are a keyring's revision and a pairing's step",
    answer: refuseDuplicates,
  },
  '413': { does: 'the quota is used up: requests that store more are refused', answer: refuseStoring },
  '429': {
    does: 'every call exceeds the rate limit',
    answer: (call, forward) => refuse(TooManyRequests, call, forward),
  },
  '503': {
    does: 'the service is not available',
    answer: (call, forward) => refuse(Unavailable, call, forward),
  },
  'socket-refused': { does: 'no realtime socket opens', answer: refuseSockets },
  'socket-drop': { does: 'the realtime socket breaks off after 2 s', connect: drop },
  'socket-silence': { does: 'the realtime socket opens, but sends nothing', connect: silence },
  'socket-signed-out': {
    does: 'the realtime socket is closed after 2 s: signed out (4401)',
    connect: closeWith(closeCodes.signedOut),
  },
  'socket-stopping': {
    does: 'the realtime socket is closed after 2 s: the service stops (1001)',
    connect: closeWith(closeCodes.stopping),
  },
}

async function oneChangeAPage(call: MockCall, forward: Forward): Promise<MockAnswer> {
  const fields = isCallOf('pullChanges', call) ? fieldsOf(call) : undefined
  return forward(fields ? withBody(call, { ...fields, limit: 1 }) : call)
}

/** Session tokens that a refresh has returned. All other tokens count as expired. */
const refreshed = new Set<string>()

/** Makes the session look expired until it is refreshed. */
async function expireOnce(call: MockCall, forward: Forward): Promise<MockAnswer> {
  if (isCallOf('refreshSession', call)) {
    const answer = await forward(call)
    for (const token of tokensIn([answer.headers['set-cookie'] ?? []].flat().join(';'))) refreshed.add(token)
    return answer
  }
  const { cookie = '', authorization = '' } = call.headers
  const sent = [...tokensIn(cookie), authorization.replace(/^Bearer +/i, '')]
  const isRefreshed = sent.some((token) => refreshed.has(token))
  return forward(
    isRefreshed ? call : withoutSession(call, cookie.replace(/service_session=[^;]*/g, 'service_session=expired')),
  )
}

/** Replaces the cookies, and makes a bearer token invalid, so that no valid session is left. */
function withoutSession(call: MockCall, cookie: string): MockCall {
  const { authorization } = call.headers
  return { ...call, headers: { ...call.headers, cookie, ...(authorization && { authorization: 'Bearer expired' }) } }
}

function tokensIn(cookies: string): string[] {
  return [...cookies.matchAll(/service_session=([^;,\s]+)/g)].map(([, token = '']) => token)
}

async function slowRefresh(call: MockCall, forward: Forward): Promise<MockAnswer> {
  if (isCallOf('refreshSession', call)) await sleep(slowRefreshMs)
  return expireOnce(call, forward)
}

async function signedOut(call: MockCall, forward: Forward): Promise<MockAnswer> {
  return forward(withoutSession(call, 'service_session=expired; service_refresh=expired'))
}

async function exportsAre(status: 'processing' | 'failed', call: MockCall, forward: Forward): Promise<MockAnswer> {
  const answer = await forward(call)
  if (answer.status >= 300) return answer
  if (isCallOf('downloadExport', call)) return refuse(ExportNotReady, call, forward)
  if (!isCallOf('listExports', call)) return answer
  const { exports } = JSON.parse(answer.body.toString()) as { exports: object[] }
  const unfinished = { status, size_bytes: null, bookmark_count: null, expires_at: null }
  return replaced(answer, 200, { exports: exports.map((one) => ({ ...one, ...unfinished })) })
}

type Connect = (socket: Duplex) => void

const endsAfterMs = 2_000

function drop(socket: Duplex): void {
  setTimeout(() => socket.destroy(), endsAfterMs).unref()
}

/** Lets only the first write through, which is the response to the handshake. */
function silence(socket: Duplex): void {
  const write = socket.write.bind(socket)
  socket.write = ((...written: Parameters<Duplex['write']>) => {
    socket.write = () => true
    return write(...written)
  }) as Duplex['write']
}

/** Sends a close frame after 2 s. The service closes its side when the client has answered the frame. */
function closeWith(code: number): Connect {
  const closeFrame = Buffer.from([0x88, 2, code >> 8, code & 0xff])
  return (socket) => {
    setTimeout(() => socket.write(closeFrame), endsAfterMs).unref()
  }
}
