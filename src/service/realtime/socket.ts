import type { Duplex } from 'node:stream'
import type { FastifyBaseLogger } from 'fastify'
import type { WebSocket } from 'ws'
import { closeCodes } from '../../../generated/channel.ts'
import { ServiceError, toServiceError } from '../contract/errors.ts'
import { parseJson } from '../contract/json.ts'
import type { ClientMessage, Schemas, ServerMessage } from '../contract/schemas.ts'
import { faultFinderOf } from '../contract/validation.ts'
import type { Database } from '../db/engine/database.ts'
import { faultOf } from '../db/engine/probe.ts'
import { findChange } from '../db/tables/changes.ts'
import { isLoginAlive } from '../db/tables/logins.ts'
import { type ParsingPlaces, parseInTurn } from '../load/gate.ts'
import { type Limits, requestUnit } from '../load/rates.ts'
import { type PushParts, push } from '../sync/push.ts'
import type { Connection, Peer } from './connection.ts'
import { toMessage } from './delivery.ts'
import type { Hub } from './hub.ts'

const restMs = 1000
/** A ping or pong counts as this many bytes, because handling it costs more than its size. */
const controlBytes = 4096

const faultFinders = {
  sync: faultFinderOf('ChangeMessage', 'asyncapi'),
  ping: faultFinderOf('PingMessage', 'asyncapi'),
  pong: faultFinderOf('PongMessage', 'asyncapi'),
}

export interface SocketParts extends PushParts {
  database: PushParts['database'] & Pick<Database, 'db' | 'isUnavailable'>
  hub: Pick<Hub, 'open'>
  gate: ParsingPlaces
  limits: Pick<Limits, 'spend' | 'countUser'>
  log: FastifyBaseLogger
}

interface Message {
  data: Buffer
  isBinary: boolean
}

/** Stands for a message beyond the user's rate limit. */
const beyondRate = 'beyond the rate'
type Received = Message | typeof beyondRate

/**
 * Handles the messages of an upgraded socket's client, one at a time. The hub sends to the socket. The library delivers
 * one frame per turn of the event loop (app.ts).
 */
export function openRealtime(socket: WebSocket, stream: Duplex, peer: Peer, parts: SocketParts): void {
  const connection = parts.hub.open(socket, stream, peer)
  const received: Received[] = []
  const charge = createCharge(connection, parts)
  stream.on('data', (chunk: Buffer) => {
    connection.arrived(chunk.length)
    charge(chunk.length)
  })
  const chargeControl = () => charge(controlBytes)
  socket.on('ping', chargeControl).on('pong', chargeControl)
  socket.on('message', (data: Buffer, isBinary) => {
    connection.heard()
    if (connection.closing || received.at(-1) === beyondRate) return
    received.push(count(data, isBinary, peer, parts))
    connection.work ??= work(connection, received, parts)
  })
}

/** Counts bytes like those of requests. While nothing is left of the user's rate limit, nothing more is read. */
function createCharge(connection: Connection, { limits }: SocketParts): (bytes: number) => void {
  let [uncounted, isHeld] = [0, false]
  async function hold(ms: number): Promise<void> {
    isHeld = true
    connection.hold()
    await connection.rest(ms)
    connection.release()
    isHeld = false
  }
  return (bytes) => {
    uncounted += bytes / requestUnit
    const units = Math.floor(uncounted)
    if (units === 0) return
    uncounted -= units
    const waitMs = limits.spend(connection.peer.userId, units)
    if (waitMs !== undefined && !isHeld) hold(waitMs)
  }
}

/** Counts a message when it arrives, before it waits for anything. Messages after one beyond the limit are dropped. */
function count(data: Buffer, isBinary: boolean, { userId }: Peer, { limits }: SocketParts): Received {
  try {
    limits.countUser(userId, 1)
    return { data, isBinary }
  } catch {
    return beyondRate
  }
}

/** Processes the messages in order. Nothing is read meanwhile, so only those that had already arrived can wait here. */
async function work(connection: Connection, received: Received[], parts: SocketParts): Promise<void> {
  connection.hold()
  for (let [message] = received; message; [message] = received) {
    await connection.ready()
    // The message stays in the queue until it is handled, so that messages after one beyond the limit are dropped.
    if (await handle(message, connection, parts)) received.length = 0
    received.shift()
  }
  connection.release()
  connection.work = undefined
}

/** Returns true if the messages behind this one must be dropped. */
async function handle(message: Received, connection: Connection, parts: SocketParts): Promise<boolean> {
  if (connection.closing) return false
  let isTooMany = false
  try {
    await answer(message, connection, parts)
  } catch (error) {
    isTooMany = report(error, connection, parts)
  }
  if (isTooMany) await connection.rest(restMs)
  return isTooMany
}

async function answer(received: Received, connection: Connection, parts: SocketParts): Promise<void> {
  if (received === beyondRate) throw new ServiceError('TooManyRequests')
  const { data, isBinary } = received
  const message = await parseInTurn(parts.gate, connection.peer.userId, data.length, () => readMessage(data, isBinary))
  // Idle clients send nothing but pings and pongs, so these must not touch the database.
  if (message.type === 'ping') connection.send({ type: 'pong' })
  if (message.type !== 'sync') return
  const isAlive = await isLoginAlive(parts.database.db, connection.peer, parts.clock())
  if (!isAlive) return connection.close(closeCodes.signedOut)
  await pushChange(connection, message.event, parts)
}

/** Reports an error. Returns true if the user has exceeded the rate limit. */
function report(error: unknown, connection: Connection, { database, log }: SocketParts): boolean {
  const { code, statusCode, message, cause } = toServiceError(error, database.isUnavailable)
  if (code === 'InvalidSession') {
    connection.close(closeCodes.signedOut)
    return false
  }
  // `isUnavailable` logs a full disk once a minute.
  if (statusCode >= 500 && faultOf(cause) !== 'full')
    log.error({ err: cause ?? error, user: connection.peer.userId }, message)
  connection.send({ type: 'error', error: message })
  return code === 'TooManyRequests'
}

/**
 * Pushes one change. The client gets the entity's last change as acknowledgement: from the hub, like all other sockets,
 * or from here, if this socket is beyond it (the push is a retry) or does not get changes of its type.
 */
async function pushChange(connection: Connection, event: Schemas['Change'], parts: SocketParts): Promise<void> {
  const passed = connection.cursor ?? 0
  const row = await writeChange(connection, event, parts)
  const { types } = connection.peer
  const isUnwanted = types !== undefined && !types.includes(event.entity_type)
  if (row && (row.sequence <= passed || isUnwanted)) connection.sendFrame(toMessage(row))
}

/**
 * Resolves to the entity's last change, unless the pushed change lost. If the tombstone of a delete had no room, there
 * is no last change: the delete is sent back as it came, with a sequence number that skips no change.
 */
async function writeChange(connection: Connection, event: Schemas['Change'], parts: SocketParts) {
  const { userId } = connection.peer
  const { conflicts } = await push(parts, connection.peer, [event]).catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.code !== 'QuotaExceeded') throw error
    throw new ServiceError('QuotaExceeded', { message: nameEntity(event, error.message) })
  })
  const conflict = conflicts[0]
  if (conflict) {
    connection.send({ type: 'error', error: nameEntity(event, conflict.reason) })
    return undefined
  }
  const row = await findChange(parts.database.db, { userId, ...event })
  if (!row) connection.send(toUnstored(event, userId, connection.cursor ?? 0))
  return row
}

function nameEntity({ entity_type, entity_id }: Schemas['Change'], reason: string): string {
  return `${entity_type} ${entity_id}: ${reason}`
}

function toUnstored(event: Schemas['Change'], userId: string, stamp: number): ServerMessage {
  const { id, entity_type, entity_id, operation, timestamp, device_id } = event
  const change = { id, user_id: userId, entity_type, entity_id, operation, timestamp, device_id }
  return { type: 'sync', event: { ...change, conflict_resolved: false, resolution_strategy: null }, stamp }
}

/** Parses a client's message. Throws a BadRequest that names the fault. */
function readMessage(data: Buffer, isBinary: boolean): ClientMessage {
  if (isBinary) throw malformed('it is binary')
  const message = parse(data)
  const type = message?.type
  if (typeof type !== 'string' || !Object.hasOwn(faultFinders, type))
    throw malformed(`type must be one of: ${Object.keys(faultFinders).join(', ')}`)
  const fault = faultFinders[type as keyof typeof faultFinders](message)
  if (fault !== undefined) throw malformed(fault)
  return message as ClientMessage
}

function parse(data: Buffer): { type?: unknown } | null {
  try {
    return parseJson(data, 'it') as { type?: unknown } | null
  } catch (error) {
    throw malformed((error as Error).message)
  }
}

function malformed(fault: string): ServiceError {
  return new ServiceError('BadRequest', { message: `Malformed message: ${fault}` })
}
