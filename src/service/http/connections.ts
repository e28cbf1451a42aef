import { readFileSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { ConfigError } from '../config/values.ts'
import { createRefusal } from '../load/budget.ts'

/** Descriptors for everything but callers' connections: the database, the object store, exports, the provider, modules. */
const reserved = 96
const checkMs = 5000
/** Between two checks a client takes what waits for it, or this of a large response: 100 kbit/s. */
const checkBytes = 64 * 1024
/** Once it is so many checks behind, 30 s, its connection is closed. */
const leastChecks = 6
/** Or so many, 2 minutes, as it took more before: a full buffer of the system, of 4 MB, takes nothing until a third is free. */
const mostChecks = 24
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

/** The error of a listener that could not begin, as a fault of the variable that says where. */
export function listeningFault(prefix: '' | 'ADMIN_', host: string, port: number, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined) return error
  if (code === 'EADDRINUSE') return new ConfigError(`${prefix}PORT: port ${port} on ${host} is in use: set another`)
  if (code === 'EACCES') return new ConfigError(`${prefix}PORT: port ${port} on ${host} is not allowed (${message})`)
  return new ConfigError(`${prefix}HOST: cannot listen on ${host} (${message})`)
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
  /** The bytes that waited to be taken. */
  waiting: number
  checksLeft: number
}

/** Closes a connection whose client takes nothing of a response, or hardly goes on: it would hold the rest for as long as it likes. */
function closeStalledConnections(server: HttpServer): void {
  const connections = new Map<Socket, Progress>()
  /** One function for all: idle connections are many. */
  function forget(this: Socket): void {
    connections.delete(this)
  }
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { taken: 0, waiting: 0, checksLeft: leastChecks })
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
  const { writableLength } = socket
  const taken = socket.bytesWritten - writableLength
  const paid = (taken - progress.taken) / Math.min(progress.waiting || checkBytes, checkBytes)
  const due = progress.waiting > 0 && writableLength > 0 ? 1 : 0
  const left = Math.min(mostChecks, progress.checksLeft + paid - due)
  progress.checksLeft = paid < due ? left : Math.max(leastChecks, left)
  progress.taken = taken
  progress.waiting = writableLength
  if (progress.checksLeft <= 0) socket.destroy()
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
