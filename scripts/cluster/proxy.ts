import { once } from 'node:events'
import { Agent, type ClientRequestArgs, createServer, type IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { createProxyServer } from 'http-proxy-3'
import { isRealtimeUpgrade } from '../../src/service/http/realtime.ts'

const host = '127.0.0.1'
/** The response header with the number of the instance that answered. */
const instanceHeader = 'x-instance'

export interface Proxy {
  /** Stops accepting connections. Requests under way and WebSockets continue. */
  drain(): void
  /** Stops accepting connections, and closes all except WebSockets. */
  close(): Promise<void>
}

/** Listens on one port for all instances. Requests and WebSockets go to the instances in turn. */
export async function startProxy(port: number, instances: number[]): Promise<Proxy> {
  const proxy = createProxyServer({ target: { host, port: 0 }, agent: new RoundRobin(instances), xfwd: true })
  const mark = (answer: IncomingMessage) => {
    answer.headers[instanceHeader] = String(instances.indexOf(answer.socket.remotePort ?? 0) + 1)
  }
  proxy.on('proxyRes', mark)
  proxy.on('proxyReqWs', (request) => request.on('upgrade', mark))
  proxy.on('error', (_error, _request, to) => {
    if (!(to instanceof ServerResponse) || to.headersSent) to.destroy()
    else to.writeHead(502, { 'content-type': 'application/json' }).end('{"error":"Bad gateway"}')
  })
  // Other upgrade requests are forwarded as ordinary requests. `proxy.ws` would drop them.
  const server = createServer({ shouldUpgradeCallback: isRealtimeUpgrade }, (request, response) =>
    proxy.web(request, response),
  )
  server.on('upgrade', (request, socket, head) => proxy.ws(request, socket, head))
  await once(server.listen(port, host), 'listening')
  return {
    drain: () => void server.close(),
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Connects to the ports in turn, and skips those that refuse the connection. */
class RoundRobin extends Agent {
  readonly #ports: number[]
  #turn = 0

  constructor(ports: number[]) {
    super()
    this.#ports = ports
  }

  override createConnection(
    _options: ClientRequestArgs,
    callback: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    this.#connect(callback, this.#ports.length)
  }

  #connect(callback: (error: Error | null, socket: Duplex) => void, attempts: number): void {
    const port = this.#ports[this.#turn++ % this.#ports.length] as number
    const socket = connect(port, host)
    const refused = (error: Error) => {
      if (attempts > 1) this.#connect(callback, attempts - 1)
      else callback(error, socket)
    }
    socket.once('error', refused)
    socket.once('connect', () => {
      socket.off('error', refused)
      callback(null, socket)
    })
  }
}
