import { readFileSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { Server } from 'node:net'
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { createRefusal } from '../load/budget.ts'

/** Descriptors for everything but callers' connections: the database, the object store, exports, the provider, modules. */
const reserved = 96
/** Shorter than it takes to accept a connection. */
const quietMs = 0.1
const busyMs = 500

/**
 * Refuses connections before descriptors run out: without a free one nothing can be opened or measured any more, and the
 * process would end.
 */
export function limitConnections(server: Server, log: FastifyBaseLogger): void {
  const descriptors = readDescriptorLimit()
  if (descriptors === undefined) return
  server.maxConnections = Math.max(16, descriptors - reserved)
  server.on('drop', createRefusal(log, `more than ${server.maxConnections} connections: refusing some`))
}

/**
 * Refuses new connections, which a proxy then makes to another instance, and serves the open ones: those of HTTP end with
 * their next response. Closing them while they are idle, as the server of HTTP does, would meet a request on its way.
 */
export async function refuseConnections(server: Server): Promise<void> {
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

/** Undefined where there is no limit, or no such file. */
function readDescriptorLimit(): number | undefined {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
