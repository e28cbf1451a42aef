import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Person } from './accounts.ts'
import { upgradeText } from './connections.ts'
import type { SocketCall } from './operations.ts'

/** Options of `useSockets`. */
export interface SocketsOf {
  port: number
  person: Pick<Person, 'userId' | 'session'>
  count: number
  callOf(socket: number): SocketCall
  /** Closes the sockets when it aborts: answers may never come. */
  signal?: AbortSignal
}

/** Opens `count` sockets, waits until each has got all answers or was closed, and closes them. */
export async function useSockets({ port, person, count, callOf, signal }: SocketsOf): Promise<void> {
  const sockets = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }))
  const end = () => {
    for (const socket of sockets) socket.destroy()
  }
  signal?.addEventListener('abort', end)
  const conversations = sockets.map((socket, number) => {
    const call = callOf(number)
    return converse(socket, upgradeText({ port, attacker: person }, call.since, `socket-${number}`), call)
  })
  await Promise.all(conversations)
  end()
}

async function converse(socket: Socket, upgrade: string, { messages, changes = 0 }: SocketCall): Promise<void> {
  let received = ''
  const ended = new Promise<void>((resolve) => {
    socket.on('error', () => {})
    socket.once('close', resolve)
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
      if (received.includes(lastAnswer) && received.split('"type":"sync"').length > changes) resolve()
    })
  })
  socket.write(upgrade)
  await Promise.race([once(socket, 'data'), ended])
  // The service answers in order, so the answer to `{}` shows that all messages have been handled.
  socket.write(Buffer.concat([...messages, '{}'].map(frameOf)))
  await ended
}

/** The answer to `{}` begins like this, because a message without a type is an error. */
const lastAnswer = 'Malformed message: type'

/** A WebSocket text frame of a client, which must be masked. The mask is zero, so the text stays as it is. */
function frameOf(message: string): Buffer {
  const text = Buffer.from(message)
  const length = text.length < 126 ? [0x80 | text.length] : [0x80 | 126, text.length >> 8, text.length & 255]
  return Buffer.from([0x81, ...length, 0, 0, 0, 0, ...text])
}
