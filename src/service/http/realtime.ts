import type { IncomingMessage } from 'node:http'
import type { WebSocket } from '@fastify/websocket'
import type { FastifyReply, FastifyRequest, onRequestHookHandler, preHandlerHookHandler } from 'fastify'
import { quotas } from '../../../generated/limits.ts'
import type { operations as contract } from '../../../generated/openapi.ts'
import { operations } from '../../../generated/operations.ts'
import { ServiceError } from '../contract/errors.ts'
import { typesIn } from '../db/tables/records.ts'
import type { Session } from '../db/tables/tokens.ts'
import type { Hub } from '../realtime/hub.ts'
import { openRealtime, type SocketParts } from '../realtime/socket.ts'

export interface RealtimeParts extends SocketParts {
  hub: Pick<Hub, 'open' | 'socketsOf'>
  metrics: SocketParts['metrics'] & { countUpgrade(): void }
}

type Parameters = contract['openRealtime']['parameters']

const { socketsPerInstance: maxSocketsOfOne } = quotas
/** A socket whose client has disappeared without closing it is closed after 60 to 65 s. */
const retryAfterSeconds = '60'

/** Checks in this order: origin and session, the upgrade, the ids, the user, and the number of sockets. */
export function bindRealtime(parts: RealtimeParts, secure: onRequestHookHandler) {
  return {
    onRequest: [secure, requireUpgrade],
    preHandler: [checkIds, checkCount(parts), detach],
    handler: async (_request: FastifyRequest, _reply: FastifyReply) => {
      throw upgradeRequired()
    },
    wsHandler(socket: WebSocket, request: FastifyRequest): void {
      parts.metrics.countUpgrade()
      request.trace?.end(false)
      const { userId, loginId } = request.session as Session
      const { since, entity_types } = request.query as NonNullable<Parameters['query']>
      const types = entity_types === undefined ? undefined : typesIn(entity_types)
      const deviceId = readIds(request).deviceId as string
      // The library's listener would keep the request in memory as long as the socket is open. The hub adds another.
      socket.removeAllListeners('error')
      openRealtime(socket, request.raw.socket, { userId, loginId, deviceId, since, types }, parts)
    },
  }
}

/**
 * Detaches the response from the socket. Otherwise it would stay in memory, and with it the request, as long as the
 * socket is open: several times the memory of an idle socket. Node does not document `detachSocket`, which
 * undoes what the library has done; without it, test/realtime/many-sockets.test.ts finds leaked responses.
 */
const detach: preHandlerHookHandler = ({ raw }, reply, next) => {
  reply.raw.detachSocket(raw.socket)
  next()
}

/** Other requests are not upgraded, because Node would neither read their connection any longer nor notice its end. */
export function isRealtimeUpgrade({ method, url = '', headers }: IncomingMessage): boolean {
  const isRealtime = method === 'GET' && url.split('?', 1)[0] === operations.openRealtime.path
  return isRealtime && headers.upgrade?.toLowerCase() === 'websocket'
}

/** Refuses requests without a handshake, or with one that the library would answer with HTML (RFC 6455, 4.2.1). */
async function requireUpgrade({ ws, headers }: FastifyRequest): Promise<void> {
  const isHandshake =
    headers['sec-websocket-version'] === '13' && /^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')
  if (!ws || !isHandshake) throw upgradeRequired()
}

function upgradeRequired(): ServiceError {
  return new ServiceError('UpgradeRequired', { headers: { upgrade: 'websocket' } })
}

async function checkIds(request: FastifyRequest): Promise<void> {
  const { userId, deviceId } = readIds(request)
  if (!userId || !deviceId) throw new ServiceError('IdsRequired')
  if (userId !== request.session?.userId) throw new ServiceError('ForbiddenUser')
}

/** Synchronous, so that two simultaneous upgrades cannot both get the last slot. */
function checkCount({ hub }: Pick<RealtimeParts, 'hub'>): preHandlerHookHandler {
  return ({ session }, _reply, done) => {
    const isFull = hub.socketsOf((session as Session).userId) >= maxSocketsOfOne
    done(isFull ? new ServiceError('TooManySockets', { headers: { 'retry-after': retryAfterSeconds } }) : undefined)
  }
}

/** Query parameters can replace headers, which browsers cannot set on a WebSocket. */
function readIds({ headers, query }: FastifyRequest): { userId: string | undefined; deviceId: string | undefined } {
  const { 'x-user-id': userId, 'x-device-id': deviceId } = headers as NonNullable<Parameters['header']>
  const { user_id, device_id } = query as NonNullable<Parameters['query']>
  return { userId: userId ?? user_id, deviceId: deviceId ?? device_id }
}
