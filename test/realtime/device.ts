import type { Socket } from 'node:net'
import type {} from '@fastify/websocket'
import type { Test } from 'tap'
import { type ClientOptions, WebSocket } from 'ws'
import { operations } from '../../generated/operations.ts'
import type { ClientMessage, ServerMessage } from '../../src/service/contract/schemas.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { checkAnswer, checkMessage, checkTaken } from '../support/contract.ts'

type SyncMessage = Extract<ServerMessage, { type: 'sync' }>

/** A device's side of the realtime channel. Each received message is checked against asyncapi.yaml. */
export interface Device {
  socket: WebSocket
  messages: ServerMessage[]
  closeCode: Promise<number>
  send(message: unknown): void
  /** Removes the messages up to the first one that fits, and returns that one. */
  take(fits: (message: ServerMessage) => boolean): Promise<ServerMessage>
  /** Removes and returns the next message, ignoring the server's pings. */
  next(): Promise<ServerMessage>
  /** The next message, which must be a `sync`. */
  nextSync(): Promise<SyncMessage>
  /** Removes the messages up to the sync of `last`. Returns the entity ids of the syncs, including `last`. */
  takeEntities(last: string): Promise<string[]>
}

export interface DeviceOptions {
  deviceId?: string
  since?: number
  types?: string
  /** Sent as a bearer token, in addition to the user's cookie. */
  token?: string
  /** The certificate of the origin, if the test made it. */
  ca?: Buffer
}

/** The service, listening on a port. */
export interface Service extends TestApp {
  origin: string
}

export async function startService(t: Pick<Test, 'teardown'>, env: Record<string, string> = {}): Promise<Service> {
  const app = await buildApp(t, env)
  return { ...app, origin: await app.listen() }
}

let people = 0

/** A new user of the service with a device, and what is logged from now on. */
export async function openPerson(t: Test, app: Service) {
  const { origin } = app
  const name = `ada ${++people}`
  const ada = await app.user(name)
  const logged = app.log.length
  const device = await openDevice(t, origin, ada)
  const serverSide = [...(app.app.websocketServer.clients as Set<ServerSide>)].at(-1) as ServerSide
  return { app, origin, name, ada, device, serverSide, log: () => app.log.slice(logged).join('') }
}

/** The server's WebSocket, with the TCP socket below it. */
type ServerSide = WebSocket & { _socket: Socket }

/** Opens the channel as the user's device. Checks and removes the first message, `connected`. */
export async function openDevice(
  t: Test,
  origin: string,
  user: Pick<TestUser, 'userId' | 'cookie'>,
  options: DeviceOptions = {},
): Promise<Device> {
  const { deviceId = 'device-b', since, types, token, ca } = options
  const parameters = { ...(since !== undefined && { since: `${since}` }), ...(types && { entity_types: types }) }
  const query = `?${new URLSearchParams(parameters)}`
  const ids = { cookie: user.cookie, 'x-user-id': user.userId, 'x-device-id': deviceId }
  const headers = token === undefined ? ids : { ...ids, authorization: `Bearer ${token}` }
  const socket = new WebSocket(realtimeUrl(origin) + query, { headers, ...(ca && { ca }) } satisfies ClientOptions)
  t.teardown(() => socket.terminate())
  socket.once('upgrade', ({ statusCode = 0, headers }) => {
    checkAnswer('GET', operations.openRealtime.path, statusCode, headers, Buffer.alloc(0))
  })
  const device = listen(socket)
  const connected = await device.next()
  if (connected.type !== 'connected' || connected.deviceId !== deviceId)
    throw new Error(`expected to be connected as ${deviceId}, got ${JSON.stringify(connected)}`)
  return device
}

export function realtimeUrl(origin: string): string {
  return origin.replace('http', 'ws') + operations.openRealtime.path
}

function listen(socket: WebSocket): Device {
  const messages: ServerMessage[] = []
  const sent: unknown[] = []
  let arrived = Promise.withResolvers<void>()
  socket.on('message', (data) => {
    const message = checkMessage(String(data))
    messages.push(message)
    const taken = sent.find((one) => isAnswer(one, message))
    if (taken) checkTaken(taken)
    arrived.resolve()
  })
  const closeCode = new Promise<number>((resolve) => socket.once('close', resolve))
  // A connection that is cut off emits an error, too. The `close` event handles it.
  socket.on('error', () => {})
  closeCode.then((code) => {
    arrived.promise.catch(() => {})
    arrived.reject(new Error(`closed with ${code}`))
  })

  async function take(fits: (message: ServerMessage) => boolean): Promise<ServerMessage> {
    for (;;) {
      while (messages.length > 0) {
        const message = messages.shift() as ServerMessage
        if (fits(message)) return message
      }
      arrived = Promise.withResolvers()
      await arrived.promise
    }
  }

  const next = () => take(({ type }) => type !== 'ping')
  return {
    socket,
    messages,
    closeCode,
    send(message) {
      sent.push(message)
      socket.send(JSON.stringify(message))
    },
    take,
    next,
    async nextSync() {
      const message = await next()
      if (message.type !== 'sync') throw new Error(`expected a sync, got ${JSON.stringify(message)}`)
      return message
    },
    async takeEntities(last) {
      const ids: string[] = []
      await take((message) => {
        if (message.type === 'sync') ids.push(message.event.entity_id)
        return ids.at(-1) === last
      })
      return ids
    },
  }
}

function isAnswer(sent: unknown, message: ServerMessage): sent is ClientMessage {
  const { type, event } = { ...(sent as { type?: unknown; event?: { id?: unknown } }) }
  if (message.type === 'pong') return type === 'ping'
  return message.type === 'sync' && type === 'sync' && event?.id === message.event.id
}
