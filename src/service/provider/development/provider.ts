import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { DevelopmentClient } from './openid-provider.ts'

const host = '127.0.0.1'

interface Settings extends DevelopmentClient {
  port: number
  /** Default: the origin where it listens. */
  issuer?: string
}

/**
 * A real OpenID provider for development on http://127.0.0.1:PORT, which only asks for a name. Its package is loaded at
 * the first request, because that takes a seventh of the service's start.
 */
export async function startDevelopmentProvider({ port, issuer: given, ...client }: Settings) {
  // Throws if it is not installed.
  import.meta.resolve('oidc-provider')
  const server = createServer()
  await once(server.listen(port, host), 'listening')
  const origin = `http://${host}:${(server.address() as AddressInfo).port}`
  const issuer = given ?? origin
  let provider: Promise<RequestListener> | undefined
  const load = () => {
    provider ??= import('./openid-provider.ts').then(({ createOpenIdProvider }) => createOpenIdProvider(issuer, client))
    return provider
  }
  server.on('request', async (request, response) => (await load())(request, response))
  return {
    issuer,
    /** The origin where it listens and shows its pages. */
    origin,
    /** Loads the package, unless it is loaded. */
    load,
    async close(): Promise<void> {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
