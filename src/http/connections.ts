import { readFileSync } from 'node:fs'
import { Server } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { createRefusal } from './pressure.ts'

/** Descriptors for everything but callers' connections: the database, the object store, exports, the provider, modules. */
const reserved = 96

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
export function refuseConnections(server: Server): void {
  Server.prototype.close.call(server)
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
