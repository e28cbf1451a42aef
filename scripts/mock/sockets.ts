import type { Duplex } from 'node:stream'

export type Connect = (socket: Duplex) => void

const endsAfterMs = 2_000

export const drop: Connect = (socket) => {
  setTimeout(() => socket.destroy(), endsAfterMs).unref()
}

/** Only the first write, the handshake's answer, gets through. */
export const silence: Connect = (socket) => {
  const write = socket.write.bind(socket)
  socket.write = ((...written: Parameters<Duplex['write']>) => {
    socket.write = () => true
    return write(...written)
  }) as Duplex['write']
}

/** The service's own side of the socket ends when the client has answered. */
export function closeWith(code: number): Connect {
  const closeFrame = Buffer.from([0x88, 2, code >> 8, code & 0xff])
  return (socket) => {
    setTimeout(() => socket.write(closeFrame), endsAfterMs).unref()
  }
}
