import type { components } from '../../../../generated/client.ts'
import { openRealtime } from '../../../../generated/paths.ts'
import type { Client } from '../../api/client.ts'
import { answer, unwrap } from '../../api/unwrap.ts'

type Schemas = components['schemas']

export type Change = Schemas['Change']
export type SyncEvent = Schemas['SyncEvent']
export type PushResponse = Schemas['PushResponse']
export type PullResponse = Schemas['PullResponse']

/** The part of a WebSocket that the engine uses. */
export type RealtimeSocket = Pick<WebSocket, 'addEventListener' | 'close' | 'send'>

/** Opens a WebSocket to a URL. In Node, which has no cookie jar, it must send the session cookie. */
export type OpenWebSocket = (url: string) => RealtimeSocket

export interface CallOptions {
  signal: AbortSignal
}

/**
 * The engine's calls to the service. A call rejects with ApiError; with SignedOutError if the session is another user's, or
 * has ended and could not be refreshed; with OfflineError if the service did not respond; or with the signal's reason.
 */
export interface Transport {
  /** @param types entity types, separated by commas */
  getStatus(types: string, options: CallOptions): Promise<Pick<Schemas['SyncStatus'], 'digest'>>
  pull(
    body: Required<Pick<Schemas['PullRequest'], 'since' | 'entity_types'>>,
    options: CallOptions,
  ): Promise<PullResponse>
  push(body: { changes: Change[] }, options: CallOptions): Promise<PushResponse>
  /** The keyring as the service has it. */
  getKeyring(options: CallOptions): Promise<string>
  /** Rejects with ApiError 404 if there is no open conflict about the version. */
  settleConflict(versionId: string, options: CallOptions): Promise<void>
  logout(options: CallOptions): Promise<void>
  /** Opens the realtime channel. Changes missed since the cursor `since` come first. */
  openSocket(query: { userId: string; deviceId: string; since: number; types: string }): RealtimeSocket
}

/** The transport over the client and the platform's WebSocket. Calls fail if the session is another user's. */
export function clientTransport(
  baseClient: Client,
  userId: string,
  openWebSocket: OpenWebSocket = (url) => new WebSocket(url),
): Transport {
  const client = baseClient.as(userId)
  // Sends without retries, because the sync itself decides when to try again.
  const { sendOnce: fetch } = client
  return {
    getStatus: async (entity_types, { signal }) => {
      const params = { query: { entity_types } }
      return unwrap(await answer(client.GET('/api/v1/sync/status', { params, signal, fetch })))
    },
    pull: async (body, { signal }) => unwrap(await answer(client.POST('/api/v1/sync/pull', { body, signal, fetch }))),
    push: async (body, { signal }) => unwrap(await answer(client.POST('/api/v1/sync/push', { body, signal, fetch }))),
    getKeyring: async ({ signal }) =>
      unwrap(await answer(client.GET('/api/v1/account/keyring', { signal, fetch }))).keyring,
    settleConflict: async (id, { signal }) => {
      const params = { path: { id } }
      unwrap(await answer(client.DELETE('/api/v1/sync/conflicts/{id}', { params, signal, fetch })))
    },
    logout: async ({ signal }) => void unwrap(await answer(client.POST('/api/v1/auth/logout', { signal, fetch }))),
    openSocket: ({ userId, deviceId, since, types }) => {
      const url = new URL(openRealtime, client.baseUrl)
      url.protocol = url.protocol.replace('http', 'ws')
      const query = { user_id: userId, device_id: deviceId, since: String(since), entity_types: types }
      url.search = new URLSearchParams(query).toString()
      return openWebSocket(url.href)
    },
  }
}
