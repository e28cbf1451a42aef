import * as errors from '../../../generated/errors.ts'
import { getSession, logout, refreshSession, startLogin } from '../../../generated/paths.ts'
import type { SendRequest } from '../api/retry.ts'
import type { OpenWebSocket } from '../sync/exchange/transport.ts'
import { FakeAccount, FakeSocket } from './fake-account.ts'
import { type FakeAnswer, failed } from './fake-call.ts'
import { answerCall } from './fake-routes.ts'

/** A device's way to the fake service, signed in as one user. */
export interface FakeConnection {
  /** For `createClient`. */
  readonly fetch: SendRequest
  /** For `createSync`. */
  readonly webSocket: OpenWebSocket
  /** Cuts the network: calls reject, sockets close. */
  goOffline(): void
  goOnline(): void
  /** Ends the session, as when it has expired: calls get a 401, sockets close, and refreshing fails. */
  endSession(): void
  /** Signs the same user in again. */
  signIn(): void
}

/** A service in memory, for the devices of a test. */
export interface FakeService {
  /** For `createClient`. Nothing listens there. */
  readonly baseUrl: string
  /** Another device of this user; the first call creates the user. */
  connect(userId: string): FakeConnection
}

/**
 * The service in memory, for tests of apps: sessions, devices, the vault, push, pull, history, status, the account and the
 * realtime channel, by the rules of the contract. It shares the code that decides who wins with the service. It has no quota
 * and no limits, sends each list as one page, erases no versions by itself, and answers what it lacks (writing
 * bookmarks over REST, imports, exports) with 501. An account that was deleted begins anew, with the same user id, at `signIn`.
 *
 * @param now the service's clock (Unix ms)
 */
export function fakeService({ now = Date.now }: { now?: (() => number) | undefined } = {}): FakeService {
  const accounts = new Map<string, FakeAccount>()
  const accountOf = (userId: string) => {
    const account = accounts.get(userId) ?? new FakeAccount(userId, now, () => accounts.delete(userId))
    accounts.set(userId, account)
    return account
  }
  return { baseUrl: 'http://fake.localhost', connect: (userId) => connectTo(() => accountOf(userId)) }
}

function connectTo(findAccount: () => FakeAccount): FakeConnection {
  const sockets = new Set<FakeSocket>()
  let isOnline = true
  let account = findAccount()
  let session = account.signIn()

  const signIn = () => {
    account = findAccount()
    session = account.signIn()
  }
  const endSession = () => {
    account.endSessions((open) => open === session)
  }

  return {
    async fetch(request) {
      const { pathname } = new URL(request.url)
      request.signal.throwIfAborted()
      if (!isOnline) throw new TypeError('The fake network is down')
      const { status, body } =
        account.isOpen(session) || pathname === startLogin || pathname === logout
          ? await answerCall(request, account, session)
          : signedOut(pathname)
      if (!isOnline) throw new TypeError('The fake network is down')
      account.deliver()
      if (pathname === logout) endSession()
      return Response.json(body, { status, headers: codeOf(body) })
    },
    webSocket(url) {
      const { searchParams } = new URL(url)
      const since = searchParams.get('since')
      const { records, userId, now } = account
      const open = [sockets, session.sockets]
      const socket = new FakeSocket(searchParams.get('device_id') ?? '', records, (closed) => {
        for (const list of open) list.delete(closed)
      })
      const isRefused = !isOnline || !account.isOpen(session) || searchParams.get('user_id') !== userId
      for (const list of open) list.add(socket)
      if (isRefused) socket.close(1006)
      else queueMicrotask(() => socket.open(since === null ? undefined : Number(since), now()))
      return socket
    },
    goOffline() {
      isOnline = false
      for (const socket of sockets) socket.close(1006)
    },
    goOnline() {
      isOnline = true
    },
    endSession,
    signIn,
  }
}

function signedOut(pathname: string): FakeAnswer {
  if (pathname === getSession) return { status: 401, body: { authenticated: false } }
  return failed(pathname === refreshSession ? errors.RefreshFailed : errors.InvalidSession)
}

/** The header that names an error. */
function codeOf(body: unknown): Record<string, string> {
  const { error } = body as { error?: string }
  const found = Object.entries(errors).find(([, [, text]]) => text === error)
  return found ? { 'x-error-code': found[0] } : {}
}
