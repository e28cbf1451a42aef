import { once } from 'node:events'
import { connect } from 'node:net'
import type { Test } from 'tap'
import { WebSocket } from 'ws'
import type { SocketCall } from '../../bench/hostile/operations.ts'
import { operations } from '../../generated/operations.ts'

/** Opens that many at once; resolves when each is answered, or closed. `heard` is called for each frame that the service reads. */
export async function openSockets(
  t: Pick<Test, 'teardown'>,
  origin: string,
  { userId, session }: { userId: string; session: string },
  count: number,
  callOf: (socket: number) => SocketCall,
  heard: () => void,
): Promise<void> {
  const { emit } = WebSocket.prototype
  // Ours are none of this library's, so that the service's are alone.
  WebSocket.prototype.emit = function (this: WebSocket, event: string | symbol, ...values: unknown[]) {
    if (event === 'message' || event === 'ping' || event === 'pong') heard()
    return emit.call(this, event, ...values)
  } as typeof emit
  t.teardown(() => Object.assign(WebSocket.prototype, { emit }))
  const opened = await Promise.all(
    Array.from({ length: count }, async (_, number) => {
      const call = callOf(number)
      const query = call.since === undefined ? '' : `?since=${call.since}`
      const socket = connect(Number(new URL(origin).port), '127.0.0.1')
      t.teardown(() => socket.destroy())
      const head = [
        `GET ${operations.openRealtime.path}${query} HTTP/1.1`,
        'Host: x',
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}`,
        `Cookie: service_session=${session}`,
        `X-User-ID: ${userId}`,
        `X-Device-ID: socket-${number}`,
      ]
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
      return { socket, call }
    }),
  )
  await Promise.all(
    opened.map(async ({ socket, call }) => {
      const { messages, changes = 0 } = call
      let received = ''
      const done = new Promise<void>((resolve) => {
        socket.on('data', (bytes) => {
          received += bytes.toString('latin1')
          if (received.includes(lastAnswer) && received.split('"type":"sync"').length > changes) resolve()
        })
        socket.once('close', resolve)
      })
      await once(socket, 'data')
      // A socket's messages are answered one after the other.
      socket.write(Buffer.concat([...messages, '{}'].map(frameOf)))
      await done
      socket.destroy()
    }),
  )
}

/** Begins the complaint about a message without a type. */
const lastAnswer = 'Malformed message: type'

/** A text, masked as a client's have to be, by nothing. */
function frameOf(message: string): Buffer {
  const text = Buffer.from(message)
  const length = text.length < 126 ? [0x80 | text.length] : [0x80 | 126, text.length >> 8, text.length & 255]
  return Buffer.from([0x81, ...length, 0, 0, 0, 0, ...text])
}
