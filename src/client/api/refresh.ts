import { logout, refreshSession, startLogin } from '../../../generated/paths.ts'
import { OfflineError } from '../errors.ts'
import { abortable } from '../timing/clock.ts'
import { isOurResponse, notOurs } from './ours.ts'
import type { SendRequest } from './retry.ts'

const lockName = 'encrypted-bookmark-sync:refresh'
/** How many ms calls and other tabs wait for a refresh at most. */
const patienceMs = 60_000
/** Operations where a refreshed session would not help after a 401. */
const withoutSession = [startLogin, logout, refreshSession]

/**
 * After a 401, refreshes the session once and sends the request again. One refresh serves all calls for a user. If
 * another tab is already refreshing, this tab first tries that tab's new cookie before it refreshes, too.
 */
export function withRefresh(send: SendRequest): SendRequest {
  let refreshes = 0
  /** The running refreshes by user. */
  const running = new Map<string, Promise<Response | undefined>>()

  async function refresh(request: Request): Promise<Response> {
    const url = new URL(refreshSession, request.url)
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(new OfflineError('The refresh took too long')), patienceMs)
    const options = { method: 'POST', credentials: 'include', redirect: 'manual' } as const
    const init = { ...options, headers: userOf(request), signal: limit.signal }
    try {
      const response = await abortable(send(new Request(url, init)), limit.signal)
      const isService = await abortable(isOurResponse(response, `POST${refreshSession}`), limit.signal)
      if (!isService) throw notOurs(response)
      if (response.ok) refreshes++
      return response
    } finally {
      clearTimeout(timer)
    }
  }

  /** Resolves to undefined if another tab was refreshing: the cookie is new unless that refresh failed. */
  function refreshOnce(request: Request): Promise<Response | undefined> {
    const user = JSON.stringify(userOf(request))
    const refreshing = running.get(user) ?? onceAcrossTabs(() => refresh(request)).finally(() => running.delete(user))
    running.set(user, refreshing)
    return refreshing
  }

  return async (request) => {
    const before = refreshes
    const first = await send(request.clone())
    if (isWithoutSession(request) || !(await isEnded(first))) return first
    if (refreshes === before) {
      const answer = await abortable(refreshOnce(request), request.signal)
      if (answer === undefined) return sendAgain(request, first)
      if (!answer.ok) return answer.status === 401 ? first : answer.clone()
    }
    await first.body?.cancel()
    return send(request)
  }

  async function sendAgain(request: Request, first: Response): Promise<Response> {
    const second = await send(request.clone())
    if (!(await isEnded(second))) return second
    const answer = await refresh(request)
    if (!answer.ok) return answer.status === 401 ? first : answer
    return send(request)
  }
}

/** True if the service itself reports the end of the session: a proxy's 401 does not end it. */
async function isEnded(response: Response): Promise<boolean> {
  return response.status === 401 && isOurResponse(response)
}

function userOf({ headers }: Request): Record<string, string> {
  const user = headers.get('x-user-id')
  return user === null ? {} : { 'x-user-id': user }
}

function isWithoutSession({ url }: Request): boolean {
  const { pathname } = new URL(url)
  return withoutSession.some((path) => pathname.endsWith(path))
}

/** Runs `refresh`, or waits for another tab that is already running it. */
async function onceAcrossTabs(refresh: () => Promise<Response>): Promise<Response | undefined> {
  const { locks } = globalThis.navigator ?? {}
  if (!locks) return refresh()
  const answer = await locks.request(lockName, { ifAvailable: true }, (lock) => (lock ? refresh() : undefined))
  if (answer === undefined) await locks.request(lockName, () => undefined)
  return answer
}
