import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { FastifyInstance } from 'fastify'
import { isRealtimeUpgrade } from '../../src/service/http/realtime.ts'
import { type Forward, isCallOf, type MockAnswer, type MockCall } from './call.ts'
import { refuse } from './refusals.ts'
import { type Scenario, scenarios } from './scenarios.ts'

const name = 'x-scenario'

/**
 * A server in front of the service. It plays a scenario if a request asks for one.
 *
 * @param session the cookie for calls without a session
 */
export function createMockServer(app: FastifyInstance, session?: string): Server {
  const withSession = (request: IncomingMessage) => {
    const { headers } = request
    if (session && !/service_session=/.test(headers.cookie ?? '') && headers.authorization === undefined)
      headers.cookie = [headers.cookie, session].filter(Boolean).join('; ')
    return request
  }
  const server = createServer({ shouldUpgradeCallback: isRealtimeUpgrade }, async (request, response) => {
    try {
      const { call, scenario } = readCall(withSession(request), await buffer(request))
      send(response, await play(scenario, call, (changed) => inject(app, changed)))
    } catch (error) {
      fail(error, request.socket)
    }
  })
  server.on('upgrade', async (request: IncomingMessage, socket: Socket, head: Buffer) => {
    // The client may disconnect before the response.
    socket.on('error', () => socket.destroy())
    try {
      await upgrade(app, withSession(request), socket, head)
    } catch (error) {
      fail(error, socket)
    }
  })
  return server
}

/** Upgrades to a WebSocket if the scenario forwards the call. Otherwise sends the scenario's answer. */
async function upgrade(app: FastifyInstance, request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
  const { call, scenario } = readCall(request, Buffer.alloc(0))
  let forwarded: MockCall | undefined
  const answer = await play(scenario, call, async (changed) => {
    if (!isCallOf('openRealtime', changed)) return inject(app, changed)
    forwarded = changed
    return { status: 101, headers: {}, body: '' }
  })
  if (forwarded) {
    request.url = forwarded.url
    request.headers = forwarded.headers
    scenario?.connect?.(socket)
    app.server.emit('upgrade', request, socket, head)
  } else {
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket)
    response.on('finish', () => socket.end())
    send(response, answer)
  }
}

/** Reads the scenario from the header or the query, because browsers cannot set headers on a WebSocket. */
function readCall(request: IncomingMessage, payload: Buffer): { call: MockCall; scenario: Scenario | undefined } {
  const { method = 'GET', headers, url: sent = '/' } = request
  const [path = '/'] = sent.split('?', 1)
  const query = sent.slice(path.length + 1).split('&')
  const own = query.find((parameter) => parameter.startsWith(`${name}=`))
  const others = query.filter((parameter) => parameter !== own).join('&')
  const url = own === undefined ? sent : `${path}?${others}`
  const call = { method, url, headers, payload }
  const wanted = headers[name] ?? new URLSearchParams(own).get(name) ?? undefined
  return { call, scenario: wanted === undefined || isLeftAlone(call) ? undefined : scenarioCalled(String(wanted)) }
}

/** True for preflights, health, probes and documents, which no scenario changes. */
function isLeftAlone(call: MockCall): boolean {
  return call.method === 'OPTIONS' || !call.url.startsWith('/api/') || isCallOf('getHealth', call)
}

function scenarioCalled(wanted: string): Scenario {
  const known = Object.hasOwn(scenarios, wanted) ? scenarios[wanted] : undefined
  const error = `${name} is one of: ${Object.keys(scenarios).join(', ')}`
  return known ?? { does: error, answer: (call, forward) => refuse([400, error], call, forward) }
}

async function play(scenario: Scenario | undefined, call: MockCall, forward: Forward): Promise<MockAnswer> {
  return scenario?.answer ? scenario.answer(call, forward) : forward(call)
}

async function inject(app: FastifyInstance, { method, url, headers, payload }: MockCall): Promise<MockAnswer> {
  const response = await app.inject({
    method: method as 'GET',
    url,
    headers,
    ...(payload.length > 0 && { payload }),
  })
  return { status: response.statusCode, headers: response.headers, body: response.rawPayload }
}

function send(response: ServerResponse, { status, headers, body }: MockAnswer): void {
  response.writeHead(status, allowScenario(headers)).end(body)
}

/** Lets pages of other origins send the scenario's header. */
function allowScenario(headers: MockAnswer['headers']): MockAnswer['headers'] {
  const allowed = headers['access-control-allow-headers']
  return allowed === undefined ? headers : { ...headers, 'access-control-allow-headers': `${allowed}, X-Scenario` }
}

/** Handles a fault of the mock itself, or a client that has disconnected. */
function fail(error: unknown, socket: Duplex): void {
  if (!socket.destroyed) console.error(error)
  socket.destroy()
}
