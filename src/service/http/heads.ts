import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { ServiceError } from '../contract/errors.ts'

/** What Node's parser lets pass, but RFC 9112 (3.2) and RFC 9110 (10.1.1) let a server refuse. It is malformed like the rest. */
export function registerHeads(app: FastifyInstance): void {
  // Without a listener, Node answers it without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.addHook('onRequest', ({ raw }, _reply, next) => {
    next(isSound(raw) ? undefined : new ServiceError('BadRequest', { message: 'Malformed request' }))
  })
}

function isSound({ httpVersion, headers: { expect }, rawHeaders }: IncomingMessage): boolean {
  if (expect !== undefined && !/100-continue/i.test(expect)) return false
  const hosts = countHosts(rawHeaders)
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}

/** `headers` has the first one alone. */
function countHosts(rawHeaders: string[]): number {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}
