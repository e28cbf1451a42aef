import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import type { Answer, Call } from './call.ts'
import { type Scenario, scenarios } from './scenarios.ts'

const name = 'x-scenario'

/** A server in front of the service, which must be ready, that plays a scenario when a request asks for one. */
export function createMockServer(app: FastifyInstance): Server {
  const server = createServer(async (request, response) => {
    try {
      const { url, scenario } = readScenario(request)
      const call = { method: request.method ?? 'GET', url, headers: request.headers, payload: await buffer(request) }
      const forward = (changed: Call) => inject(app, changed)
      const { status, headers, body } = await (scenario?.answer?.(call, forward) ?? forward(call))
      response.writeHead(status, allowScenario(headers)).end(body)
    } catch (error) {
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: (error as Error).message }))
    }
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { url, scenario } = readScenario(request)
    request.url = url
    scenario?.connect?.(socket)
    app.server.emit('upgrade', request, socket, head)
  })
  return server
}

/** From the header, or from the query: browsers cannot set headers on a WebSocket. */
function readScenario(request: IncomingMessage): { url: string; scenario: Scenario | undefined } {
  const url = new URL(request.url ?? '/', 'http://mock')
  const wanted = request.headers[name] ?? url.searchParams.get(name) ?? undefined
  url.searchParams.delete(name)
  const scenario = scenarios[String(wanted)]
  if (wanted !== undefined && !scenario) {
    throw new Error(`${name} is one of: ${Object.keys(scenarios).join(', ')}`)
  }
  return { url: url.pathname + url.search, scenario }
}

async function inject(app: FastifyInstance, { method, url, headers, payload }: Call): Promise<Answer> {
  const response = await app.inject({
    method: method as 'GET',
    url,
    headers,
    ...(payload.length > 0 && { payload }),
  })
  return { status: response.statusCode, headers: response.headers, body: response.rawPayload }
}

/** Allows pages of other origins to ask for a scenario by header. */
function allowScenario(headers: Answer['headers']): Answer['headers'] {
  const allowed = headers['access-control-allow-headers']
  return allowed === undefined ? headers : { ...headers, 'access-control-allow-headers': `${allowed}, X-Scenario` }
}
