import { readFileSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { createRefusal } from '../load/budget.ts'

/** Descriptors for everything but callers' connections: the database, the object store, exports, the provider, modules. */
const reserved = 96
const checkMs = 5000
/** A connection is closed at the first check 30 s after its client last took anything. */
const maxStalledChecks = 6
/** In each 10 s a client takes what waits for it, or this of a large response: 100 kbit/s, a twelfth of what a part of one counts. */
const checksOfProgress = 2
const minBytes = 128 * 1024
/** So much waits of a large response: what is smaller ends with it. */
const largeBytes = 64 * 1024
/** Shorter than it takes to accept a connection. */
const quietMs = 0.1
const busyMs = 500

/** Bounds how many connections there are and how long one may stall, and ends them while the service stops. */
export function watchConnections(app: FastifyInstance): void {
  const { server, log } = app
  limitConnections(server, log)
  closeStalledConnections(server)
  // Otherwise one that was sending a response when the stop began would stay open and delay the stop.
  app.addHook('preClose', async () => {
    const timer = setInterval(() => server.closeIdleConnections(), 50).unref()
    server.once('close', () => clearInterval(timer))
    endConnections(server)
  })
}

/** Once nobody can connect any more, a connection ends with its next response, so that no proxy keeps it. */
function endConnections(server: Server): void {
  server.on('request', (_request, response) => {
    if (!server.listening) response.shouldKeepAlive = false
  })
}

/**
 * Refuses connections before descriptors run out: without a free one nothing can be opened or measured any more, and the
 * process would end.
 */
function limitConnections(server: Server, log: FastifyBaseLogger): void {
  const descriptors = readDescriptorLimit()
  if (descriptors === undefined) return
  server.maxConnections = Math.max(16, descriptors - reserved)
  server.on('drop', createRefusal(log, `more than ${server.maxConnections} connections: refusing some`))
}

/** Undefined where there is no limit, or no such file. */
function readDescriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

interface Progress {
  /** The bytes that the client, or the system's buffer for it, has taken. */
  taken: number
  stalledChecks: number
  /** The bytes that wait since the progress is measured, and what had been taken then. */
  waiting: number
  takenBefore: number
  checks: number
}

/** Closes a connection whose client takes nothing of a response, or hardly goes on: it would hold the rest for as long as it likes. */
function closeStalledConnections(server: HttpServer): void {
  const connections = new Map<Socket, Progress>()
  /** One function for all: idle connections are many. */
  function forget(this: Socket): void {
    connections.delete(this)
  }
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { taken: 0, stalledChecks: 0, waiting: 0, takenBefore: 0, checks: 0 })
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
  if (progress.stalledChecks >= maxStalledChecks || isSlow(socket, progress)) socket.destroy()
}

/** As bodies, what is sent must go on. One that takes nothing at all has longer: its network may be away. */
function isSlow({ writableLength }: Socket, progress: Progress): boolean {
  const { waiting, taken, takenBefore } = progress
  const hasWaited = waiting > 0 && writableLength > 0
  if (hasWaited && ++progress.checks < checksOfProgress) return false
  Object.assign(progress, { waiting: writableLength, takenBefore: taken, checks: 0 })
  const took = taken - takenBefore
  return hasWaited && took > 0 && took < (waiting >= largeBytes ? minBytes : waiting)
}

/**
 * Refuses new connections, which a proxy then makes to another instance, and serves the open ones: those of HTTP end with
 * their next response. Closing them while they are idle, as the server of HTTP does, would meet a request on its way.
 */
export async function refuseConnections(server: Server): Promise<void> {
  endConnections(server)
  await quietTurn()
  Server.prototype.close.call(server)
}

/** Once no request has arrived that is not read yet: the system would answer it with a reset. */
export async function closeIdleConnections(server: HttpServer): Promise<void> {
  await quietTurn()
  server.closeIdleConnections()
}

/** Resolves after a turn of the event loop in which there was nothing to accept or to read, or when it is too busy for one. */
async function quietTurn(): Promise<void> {
  const end = performance.now() + busyMs
  for (let before = performance.now(); before < end; before = performance.now()) {
    await eventLoopTurn()
    if (performance.now() - before < quietMs) return
  }
}
