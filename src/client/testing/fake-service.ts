import { getSession, logout, refreshSession, startLogin } from '../../../generated/paths.ts'
import type { SendRequest } from '../api/send.ts'
import type { OpenWebSocket } from '../sync/exchange/transport.ts'
import { FakeAccount, failed } from './fake-account.ts'
import { FakeSocket } from './fake-socket.ts'

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

export interface FakeService {
  /** For `createClient`. Nothing listens there. */
  readonly baseUrl: string
  /** Another device of this user; the first call creates the user. */
  connect(userId: string): FakeConnection
}

/**
 * The service in memory, for tests of apps: sessions, the vault, push, pull and the realtime channel, by the rules of the
 * contract. It shares the code that decides who wins with the service. It has no quota, no limits and no history, and
 * answers what it lacks (REST calls for bookmarks, imports, exports, status) with 501.
 *
 * @param now the service's clock (Unix ms)
 */
export function fakeService({ now = Date.now }: { now?: () => number } = {}): FakeService {
  const baseUrl = 'http://fake.localhost'
  const accounts = new Map<string, FakeAccount>()
  return {
    baseUrl,
    connect(userId) {
      const account = accounts.get(userId) ?? new FakeAccount(userId, now)
      accounts.set(userId, account)
      return connectTo(account, now)
    },
  }
}

function connectTo(account: FakeAccount, now: () => number): FakeConnection {
  const sockets = new Set<FakeSocket>()
  let isOnline = true
  let isSignedIn = true

  const closeAll = (code: number) => {
    for (const socket of sockets) socket.close(code)
  }
  const endSession = () => {
    isSignedIn = false
    closeAll(4401)
  }

  return {
    async fetch(request) {
      const { pathname } = new URL(request.url)
      request.signal.throwIfAborted()
      if (!isOnline) throw new TypeError('The fake network is down')
      const { status, body } =
        isSignedIn || pathname === startLogin || pathname === logout
          ? await account.answer(request, pathname)
          : signedOut(pathname)
      if (!isOnline) throw new TypeError('The fake network is down')
      if (pathname === logout) endSession()
      return Response.json(body, { status })
    },
    webSocket(url) {
      const { searchParams } = new URL(url)
      const since = searchParams.get('since')
      const socket = new FakeSocket(searchParams.get('device_id') ?? '', account.records, (closed) => {
        for (const open of [sockets, account.sockets]) open.delete(closed)
      })
      const isRefused = !isOnline || !isSignedIn || searchParams.get('user_id') !== account.userId
      for (const open of [sockets, account.sockets]) open.add(socket)
      if (isRefused) socket.close(1006)
      else queueMicrotask(() => socket.open(since === null ? undefined : Number(since), now()))
      return socket
    },
    goOffline() {
      isOnline = false
      closeAll(1006)
    },
    goOnline() {
      isOnline = true
    },
    endSession,
    signIn() {
      isSignedIn = true
    },
  }
}

function signedOut(pathname: string) {
  if (pathname === getSession) return { status: 401, body: { authenticated: false } }
  return failed(401, pathname === refreshSession ? 'Failed to refresh token' : 'Invalid or expired session')
}
