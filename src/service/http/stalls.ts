import type { Server } from 'node:http'
import type { Socket } from 'node:net'

const checkMs = 5000
/** A connection is closed at the first check 30 s after its client last took anything. */
const maxStalledChecks = 6

interface Progress {
  /** The bytes that the client, or the system's buffer for it, has taken. */
  taken: number
  stalledChecks: number
}

/** Closes a connection whose client takes nothing of a response: it would hold what is to be sent for as long as it likes. */
export function closeStalledConnections(server: Server): void {
  const connections = new Map<Socket, Progress>()
  /** One function for all: idle connections are many. */
  function forget(this: Socket): void {
    connections.delete(this)
  }
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { taken: 0, stalledChecks: 0 })
    socket.on('close', forget)
  })
  // A WebSocket has its own check (realtime/connection.ts).
  server.on('upgrade', ({ socket }) => forget.call(socket.off('close', forget)))
  server.once('listening', () => {
    const timer = setInterval(() => {
      for (const [socket, progress] of connections) check(socket, progress)
    }, checkMs).unref()
    server.once('close', () => clearInterval(timer))
  })
}

/** Checks are counted, not seconds: while the event loop lags, nobody can take anything. */
function check(socket: Socket, progress: Progress): void {
  const taken = socket.bytesWritten - socket.writableLength
  const isStalled = socket.writableLength > 0 && taken === progress.taken
  progress.stalledChecks = isStalled ? progress.stalledChecks + 1 : 0
  progress.taken = taken
  if (progress.stalledChecks >= maxStalledChecks) socket.destroy()
}
