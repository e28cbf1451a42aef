import { on, once } from 'node:events'
import { WebSocket } from 'ws'
import type { components } from '../../generated/asyncapi.ts'
import { operations } from '../../generated/operations.ts'
import type { Browser } from './browser.ts'
import { Difference } from './compare.ts'

type Messages = components['schemas']
type ServerMessage = Messages[`${'Connected' | 'Sync' | 'Ping' | 'Pong' | 'Error'}Message`]

/** A device's realtime channel. */
export interface Channel {
  /** The server's time at the start, Unix ms. */
  connectedAt: number
  /** The next change. */
  next(): Promise<Messages['SyncMessage']>
  close(): Promise<void>
}

export interface ChannelOptions {
  baseUrl: URL
  userId: string
  deviceId: string
  /** The device's cursor: what it missed since then comes first. */
  since: number
}

/** A change takes milliseconds; after this it is lost. */
const patienceMs = 10_000

/** In a web page, which cannot set headers on a socket, `user_id` and `device_id` go into the query. */
export async function openChannel(browser: Browser, options: ChannelOptions): Promise<Channel> {
  const { baseUrl, userId, deviceId, since } = options
  const url = new URL(`${operations.openRealtime.path}?since=${since}`, baseUrl)
  const cookie = browser.cookiesFor(url)
  url.protocol = url.protocol.replace('http', 'ws')
  const socket = new WebSocket(url, { headers: { cookie, 'x-user-id': userId, 'x-device-id': deviceId } })
  const signal = AbortSignal.timeout(patienceMs)
  const messages = on(socket, 'message', { close: ['close'], signal })

  async function next<Type extends 'connected' | 'sync'>(type: Type): Promise<Extract<ServerMessage, { type: Type }>> {
    for (;;) {
      const { value, done } = await messages.next().catch((error: unknown) => {
        throw signal.aborted ? new Difference(`No "${type}" came by WebSocket within ${patienceMs} ms`) : error
      })
      if (done) throw new Error('The realtime channel was closed')
      const message = JSON.parse(String(value[0])) as ServerMessage
      if (message.type === 'ping') socket.send(JSON.stringify({ type: 'pong' } satisfies Messages['PongMessage']))
      else if (message.type === type) return message as Extract<ServerMessage, { type: Type }>
      else throw new Error(`The realtime channel says ${JSON.stringify(message)}`)
    }
  }

  const { timestamp: connectedAt } = await next('connected')
  return {
    connectedAt,
    next: () => next('sync'),
    async close() {
      socket.close()
      await once(socket, 'close')
    },
  }
}
