import { readFileSync } from 'node:fs'
import type { Server as HttpServer, IncomingMessage, RequestListener } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import { ConfigError } from '../config/values.ts'
import { addressOf, networkOf, type Trust } from '../load/addresses.ts'
import { createRefusal } from '../load/refusal.ts'

/** Descriptors for everything but callers' connections: the database, the object store, exports, the provider, modules. */
const reserved = 96
/**
 * Connections of one address: seven for each of 146 browsers, six for requests and a WebSocket. If each sends most of a head,
 * they hold 32 MiB of memory.
 */
const mostOfOne = 1024
/** If few descriptors are allowed, four addresses are needed to take all connections. */
const shareOfOne = 1 / 4
/** Connections beyond the others, for what runs on this machine, such as the health check of a container. */
const kept = 8
/** Browsers, proxies and our clients send the next request after the answer. */
const mostUnanswered = 16
const turnMs = 10
const checkMs = 5000
/** Between two checks a client takes what waits for it, or this of a large response: 100 kbit/s. */
const checkBytes = 64 * 1024
/** The checks that a connection may be behind (30 s) before it is closed. */
const leastChecks = 6
/** The same (2 minutes) if it took more before: a full system buffer of 4 MB takes nothing until a third of it is free. */
const mostChecks = 24
/** Shorter than it takes to accept a connection. */
const quietMs = 0.1
const busyMs = 500

/** Bounds how many connections there are, what each may ask for and how long it may stall; ends them while the service stops. */
export function watchConnections(app: FastifyInstance, trust: Trust): void {
  const { server, log } = app
  serveInOrder(server)
  limitConnections(server, log, trust)
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
  // Before the listener that serves: an answer may be complete when it returns.
  server.prependListener('request', (_request, response) => {
    if (!server.listening) response.shouldKeepAlive = false
  })
}

/**
 * Refuses connections before descriptors run out: without a free one nothing can be opened or measured any more, and the
 * process would end. No address gets all of them, but a trusted proxy, which has everybody's.
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

  /** One function for all: idle connections are many. */
  function forget(this: Socket): void {
    open--
    const network = networks.get(this)
    networks.delete(this)
    if (network !== undefined) count(network, -1)
  }

  if (descriptors !== undefined) server.maxConnections = most + kept
  server.on('drop', refuse)
  // Comes before the parser is given the connection.
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

/** Undefined where there is no limit, or no such file. */
function readDescriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** Decides whether Node hands the connection of a request over to the server's `upgrade` listener. */
type Upgrading = HttpServer & { shouldUpgradeCallback(request: IncomingMessage): boolean }

/**
 * Serves the requests of a connection one after another, and ends a connection with more than 16. Node reads all that arrive
 * together at once, 2,000 in a packet of 64 KiB: served together, they would hold up everybody, and their responses would be
 * in memory until they are read. While one waits, no more is read, so a connection holds hardly more than such a packet. None
 * is upgraded behind another: its connection would no longer be read, and the response before would never end.
 */
export function serveInOrder(server: HttpServer): void {
  const [serve] = server.listeners('request') as [RequestListener]
  const upgrading = server as Upgrading
  const { shouldUpgradeCallback } = upgrading
  /** The requests of a connection that wait for the one before. */
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
    // It was read together with one too many.
    if (socket.destroyed) return
    response.once('close', () => serveNext(socket))
    const queue = waiting.get(socket)
    if (!queue) {
      waiting.set(socket, [])
      serve(request, response)
    } else if (queue.length < mostUnanswered - 1) {
      queue.push(() => serve(request, response))
      // Later: Node resumes the connection after each request, in the next tick.
      queueMicrotask(() => pause(socket))
    } else socket.destroy()
  })
}

/**
 * Runs functions in their order, for 10 ms of each turn of the event loop: a client that sends one request at a time
 * comes between.
 */
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
