import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'

/** How an operator alters responses. */
export interface Tampering {
  /** The start of the paths whose responses are altered. */
  path: string
  method: string
  alter(body: Buffer): string | Buffer
}

/** Starts a proxy for HTTP and WebSockets that alters some responses of the service. Returns its origin. */
export async function startProxy(t: Test, service: URL, tampering: Tampering): Promise<string> {
  // On a busy machine, more than Node's five seconds may pass between two requests over a connection.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    void pass(service, tampering, request, response)
  })
  server.on('upgrade', (request: IncomingMessage, client, head: Buffer) => {
    const upstream = connect(Number(service.port), service.hostname)
    const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`)
    upstream.write(`GET ${request.url} HTTP/1.1\r\n${headers.join('')}\r\n`)
    upstream.write(head)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => to.destroy())
      from.pipe(to)
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function pass(
  service: URL,
  { path, method, alter }: Tampering,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
  const hasBody = Number(request.headers['content-length'] ?? 0) > 0
  const answer = await fetch(new URL(request.url ?? '', service), {
    method: request.method ?? 'GET',
    headers: headers as Record<string, string>,
    body: hasBody ? new Uint8Array(await buffer(request)) : null,
    redirect: 'manual',
  })
  const body = Buffer.from(await answer.arrayBuffer())
  const isAltered = answer.ok && request.method === method && request.url?.startsWith(path)
  response.statusCode = answer.status
  for (const [name, value] of answer.headers) {
    if (!['connection', 'content-length', 'transfer-encoding', 'set-cookie'].includes(name))
      response.setHeader(name, value)
  }
  response.setHeader('set-cookie', answer.headers.getSetCookie())
  response.end(isAltered ? alter(body) : body)
}
