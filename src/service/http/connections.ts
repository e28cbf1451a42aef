import { readFileSync } from 'node:fs'
import type { Server as HttpServer, IncomingMessage, RequestListener } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { ConfigError } from '../config/values.ts'
import { addressOf, networkOf, type Trust } from '../load/addresses.ts'
import { createRefusal } from '../load/refusal.ts'

/** File descriptors besides callers' connections: the database, the object store, exports, the provider, modules. */
const reserved = 96
/**
 * Connections per address: seven for each of 146 browsers, which use six for requests and one for a WebSocket. If every
 * connection sends most of a head, they hold 32 MiB of memory.
 */
const mostOfOne = 1024
/** An address's share of all connections, if that is less than 1024: three addresses must not take all of them. */
const shareOfOne = 1 / 4
/** Extra connections for this machine, such as the health check of a container. */
const extraLocal = 8
/** The most unanswered requests per connection. Browsers, proxies and our clients wait for each response. */
const mostUnanswered = 16
const turnMs = 10
const checkMs = 5000
/** Bytes that a client must read between two checks, unless it has read everything: 100 kbit/s. */
const checkBytes = 64 * 1024
/** How many checks (30 s) a connection may go without having read `checkBytes` before it is closed. */
const leastChecks = 6
/** The same after fast reading (2 min): if the system's 4 MB buffer is full, it takes nothing until a third is free. */
const mostChecks = 24
/** A turn of the event loop shorter than this (ms) cannot have accepted a connection. */
const quietMs = 0.1
const busyMs = 500

/** Limits connections and their requests, and closes stalled ones. While the service stops, closes idle ones. */
export function watchConnections(app: FastifyInstance, trust: Trust): void {
  const { server, log } = app
  serveInOrder(server)
  limitConnections(server, log, trust)
  closeStalledConnections(server)
  // Otherwise a connection whose response was being sent at the stop would stay open and delay the stop.
  app.addHook('preClose', async () => {
    const timer = setInterval(() => server.closeIdleConnections(), 50).unref()
    server.once('close', () => clearInterval(timer))
    endConnections(server)
  })
}

/** Turns an error of listening into one that names the variable to change. */
export function listeningFault(prefix: '' | 'ADMIN_', host: string, port: number, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined) return error
  if (code === 'EADDRINUSE') return new ConfigError(`${prefix}PORT: port ${port} on ${host} is in use: set another`)
  if (code === 'EACCES') return new ConfigError(`${prefix}PORT: port ${port} on ${host} is not allowed (${message})`)
  return new ConfigError(`${prefix}HOST: cannot listen on ${host} (${message})`)
}

/** After the service has stopped listening, closes each connection with its next response: proxies must not keep it. */
function endConnections(server: Server): void {
  // Runs before the service's listener, which may complete the response synchronously.
  server.prependListener('request', (_request, response) => {
    if (!server.listening) response.shouldKeepAlive = false
  })
}

/**
 * Refuses connections before descriptors run out: the process would end, because it could no longer open or measure
 * anything. No address may have all connections, except this machine's, and a trusted proxy's: it has all callers'.
 */
function limitConnections(server: Server, log: FastifyBaseLogger, trust: Trust): void {
  const descriptors = readDescriptorLimit()
  const most = descriptors === undefined ? Number.POSITIVE_INFINITY : Math.max(16, descriptors - reserved)
  const ofOne = Math.min(mostOfOne, Math.floor(most * shareOfOne))
  const refuse = createRefusal(log, `more than ${most} connections: refusing some`)
  const refuseOne = createRefusal(log, `more than ${ofOne} connections from one address: refusing some of them`)
  const networks = new Map<Socket, string>()
  const counts = new Map<string, number>()
  let open = 0

  function count(network: string, change: 1 | -1): number {
    const sum = (counts.get(network) ?? 0) + change
    if (sum === 0) counts.delete(network)
    else counts.set(network, sum)
    return sum
  }

  /** One function for all connections: many are idle, and a closure for each would take memory. */
  function forget(this: Socket): void {
    open--
    const network = networks.get(this)
    networks.delete(this)
    if (network !== undefined) count(network, -1)
  }

  if (descriptors !== undefined) server.maxConnections = most + extraLocal
  server.on('drop', refuse)
  // Runs before the parser gets the connection.
  server.prependListener('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket
    open++
    socket.on('close', forget)
    if (isThisMachine(remoteAddress)) return
    if (open > most) {
      refuse()
      socket.destroy()
      return
    }
    if (trust(remoteAddress, 0)) return
    const network = networkOf(remoteAddress)
    networks.set(socket, network)
    if (count(network, 1) <= ofOne) return
    refuseOne()
    socket.destroy()
  })
}

function isThisMachine(text: string): boolean {
  return ['127.0.0.1', '::1'].includes(addressOf(text) ?? '')
}

/** The limit of open files. Undefined if there is none, or if it is unknown, as outside of Linux. */
function readDescriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** Decides whether Node passes a request's connection to the server's `upgrade` listener. */
type Upgrading = HttpServer & { shouldUpgradeCallback(request: IncomingMessage): boolean }

/**
 * Serves a connection's requests in order, and closes it at more than 16 unanswered ones. Node reads all requests of a
 * packet at once, up to 2,000 in 64 KiB: served together, they would delay everybody, and their responses would stay in
 * memory. While a request waits, nothing more is read. A request behind another is not upgraded: then nothing would
 * read the connection, and the earlier response would never end.
 */
export function serveInOrder(server: HttpServer): void {
  const [serve] = server.listeners('request') as [RequestListener]
  const upgrading = server as Upgrading
  const { shouldUpgradeCallback } = upgrading
  /** The waiting requests of a connection. */
  const waiting = new WeakMap<Socket, (() => void)[]>()
  const paused = new WeakSet<Socket>()
  const inTurn = takeTurns()

  function serveNext(socket: Socket): void {
    const queue = socket.destroyed ? undefined : waiting.get(socket)
    const next = queue?.shift()
    if (next) inTurn(next)
    else waiting.delete(socket)
    if (queue?.length === 0 && paused.delete(socket)) socket.resume()
  }

  function pause(socket: Socket): void {
    if (!waiting.get(socket)?.length) return
    paused.add(socket)
    socket.pause()
  }

  upgrading.shouldUpgradeCallback = (request) =>
    !waiting.has(request.socket) && shouldUpgradeCallback.call(server, request)
  server.off('request', serve)
  server.on('request', (request: IncomingMessage, response) => {
    const { socket } = request
    // An earlier request of the packet was one too many.
    if (socket.destroyed) return
    response.once('close', () => serveNext(socket))
    const queue = waiting.get(socket)
    if (!queue) {
      waiting.set(socket, [])
      serve(request, response)
    } else if (queue.length < mostUnanswered - 1) {
      queue.push(() => serve(request, response))
      // Deferred, because Node resumes the connection in the tick after each request.
      queueMicrotask(() => pause(socket))
    } else socket.destroy()
  })
}

/** Runs functions in order, for 10 ms per turn of the event loop, so that other requests get in between. */
function takeTurns(): (work: () => void) => void {
  const queue: (() => void)[] = []
  function runSome(): void {
    const end = performance.now() + turnMs
    do queue[0]?.()
    while (queue.shift() && queue.length > 0 && performance.now() < end)
    if (queue.length > 0) setImmediate(runSome)
  }
  return (work) => {
    if (queue.push(work) === 1) setImmediate(runSome)
  }
}

interface Progress {
  /** The bytes that the client, or the system's buffer for it, has accepted. */
  taken: number
  /** The bytes that the client had not accepted at the last check. */
  waiting: number
  checksLeft: number
}

/** Closes connections whose client hardly reads its response, which would keep the rest in memory. */
function closeStalledConnections(server: HttpServer): void {
  const connections = new Map<Socket, Progress>()
  /** One function for all connections, as in `limitConnections`. */
  function forget(this: Socket): void {
    connections.delete(this)
  }
  server.on('connection', (socket: Socket) => {
    connections.set(socket, { taken: 0, waiting: 0, checksLeft: leastChecks })
    socket.on('close', forget)
  })
  // WebSockets have their own check (realtime/connection.ts).
  server.on('upgrade', ({ socket }) => forget.call(socket.off('close', forget)))
  server.once('listening', () => {
    const timer = setInterval(() => {
      for (const [socket, progress] of connections) check(socket, progress)
    }, checkMs).unref()
    server.once('close', () => clearInterval(timer))
  })
}

/** Counts checks instead of seconds: while the event loop lags, nobody can read anything. */
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
 * Refuses new connections, so that proxies use another instance, and serves the open ones until their next response.
 * Closing idle connections at once, as Node's server does, could break off a request that is on its way.
 */
export async function refuseConnections(server: Server): Promise<void> {
  endConnections(server)
  await quietTurn()
  Server.prototype.close.call(server)
}

/** Closes idle connections when no request waits to be read: the system would answer such a request with a reset. */
export async function closeIdleConnections(server: HttpServer): Promise<void> {
  await quietTurn()
  server.closeIdleConnections()
}

/** Resolves after a turn of the event loop with nothing to accept or read, or after half a second without one. */
async function quietTurn(): Promise<void> {
  const end = performance.now() + busyMs
  for (let before = performance.now(); before < end; before = performance.now()) {
    await eventLoopTurn()
    if (performance.now() - before < quietMs) return
  }
}
