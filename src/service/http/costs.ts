import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { requestUnit } from '../load/request-unit.ts'
import type { Limits } from './limits.ts'

/** Reading is many times cheaper than writing. */
const responseUnit = 1024 * 1024

/**
 * Counts a large request or response as several requests of its user. It is counted when it is over and never refused
 * for its own size: what would exceed even an unused limit could otherwise never pass. Files are only passed on.
 */
export function registerCosts(app: FastifyInstance, limits: Pick<Limits, 'chargeUser'>): void {
  app.addHook('onRequest', (request, reply, next) => {
    const { socket } = request.raw
    const before = trafficOf(socket)
    reply.raw.on('close', () => {
      // A socket's messages are counted one by one.
      if (!request.session || request.ws) return
      const { read, written } = trafficOf(socket)
      const isFile = reply.getHeader('content-type') === 'application/octet-stream'
      const points =
        Math.floor((read - before.read) / requestUnit) +
        (isFile ? 0 : Math.floor((written - before.written) / responseUnit))
      if (points > 0) limits.chargeUser(request.session.userId, points)
    })
    next()
  })
}

/** The socket counts whatever way a body comes or goes; injected requests have none. */
function trafficOf({ bytesRead = 0, bytesWritten = 0 }: Partial<Pick<Socket, 'bytesRead' | 'bytesWritten'>>) {
  return { read: bytesRead, written: bytesWritten }
}
