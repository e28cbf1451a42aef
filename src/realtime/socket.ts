import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { WebSocket } from 'ws'
import type { Context } from '../context.ts'
import type { Schemas, ServerMessage } from '../contract.ts'
import { findChange } from '../db/changes.ts'
import { isLoginAlive, type Session } from '../db/logins.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import { push } from '../sync/push.ts'
import { type Connection, closeCodes } from './connection.ts'
import { toMessage } from './delivery.ts'
import { readMessage } from './message.ts'

const restMs = 1000

export interface RealtimeRequest {
  session: Session
  deviceId: string
  since: number | undefined
  log: FastifyBaseLogger
  /** Throws TooManyRequests when the user has used up the rate. */
  countMessage(): Promise<void>
}

interface Received {
  data: Buffer
  isBinary: boolean
}

/** Follows an upgraded socket: the hub sends to it, and what its client sends is handled here, one message at a time. */
export function openRealtime(socket: WebSocket, request: RealtimeRequest, context: Context): void {
  const { session, deviceId, since } = request
  const connection = context.hub.open(socket, { userId: session.userId, loginId: session.loginId, deviceId, since })
  const received: Received[] = []
  let working = false

  function receive(message: Received): void {
    received.push(message)
    if (!working) connection.work = work()
  }

  /** The socket is paused meanwhile, so no more waits here than what had arrived in one piece. */
  async function work(): Promise<void> {
    working = true
    socket.pause()
    for (let message = received.shift(); message; message = received.shift()) {
      await connection.ready()
      if (connection.closing) break
      await answer(message).catch(report)
    }
    socket.resume()
    working = false
  }

  async function answer({ data, isBinary }: Received): Promise<void> {
    await request.countMessage()
    const isAlive = await isLoginAlive(context.database.db, session.loginId, context.clock())
    if (!isAlive) return connection.close(closeCodes.signedOut)
    const message = readMessage(data, isBinary)
    if (message.type === 'ping') connection.send({ type: 'pong' })
    if (message.type === 'sync') await pushChange(connection, message.event, context)
  }

  async function report(error: unknown): Promise<void> {
    const { code, statusCode, message, cause } = toServiceError(error, context.database.isUnavailable)
    if (statusCode >= 500) request.log.error({ err: cause ?? error }, message)
    connection.send({ type: 'error', error: message })
    if (code !== 'TooManyRequests') return
    received.length = 0
    await Promise.race([sleep(restMs, undefined, { ref: false }), connection.ended])
  }

  socket.on('message', (data: Buffer, isBinary) => receive({ data, isBinary }))
}

/**
 * A push of one. Its acknowledgement is the entity's newest change, which for a retry no pulse announces. A delete for whose
 * tombstone there was no room has none; it is acknowledged as it is, with a stamp from which nothing is missed.
 */
async function pushChange(connection: Connection, event: Schemas['Change'], context: Context): Promise<void> {
  const { peer, acknowledgements } = connection
  if (acknowledgements.full) throw new ServiceError('TooManyRequests')
  let row: Awaited<ReturnType<typeof findChange>>
  acknowledgements.begin(event)
  try {
    const { conflicts } = await push(context, { userId: peer.userId, deviceId: peer.deviceId }, [event])
    const conflict = conflicts[0]
    if (conflict) connection.send({ type: 'error', error: nameEntity(event, conflict.reason) })
    else {
      row = await findChange(context.database.db, peer.userId, event)
      if (!row) connection.send(toUnkept(event, peer.userId, connection.cursor ?? 0))
    }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'QuotaExceeded') throw error
    throw new ServiceError('QuotaExceeded', { message: nameEntity(event, error.message) })
  } finally {
    if (acknowledgements.end(row, connection.cursor ?? 0) && row) connection.sendText(toMessage(row))
  }
}

function nameEntity({ entity_type, entity_id }: Schemas['Change'], reason: string): string {
  return `${entity_type} ${entity_id}: ${reason}`
}

function toUnkept(event: Schemas['Change'], userId: string, stamp: number): ServerMessage {
  const { id, entity_type, entity_id, operation, timestamp, device_id } = event
  const change = { id, user_id: userId, entity_type, entity_id, operation, timestamp, device_id }
  return { type: 'sync', event: { ...change, conflict_resolved: false, resolution_strategy: null }, stamp }
}
