import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { DevelopmentClient } from './openid-provider.ts'

const host = '127.0.0.1'

interface Settings extends DevelopmentClient {
  port: number
  /** Its own origin, if not given. */
  issuer?: string
}

/**
 * A real OpenID provider for development on http://127.0.0.1:PORT, where a name is all it takes to sign in. The package
 * that it is made of is loaded when the first asks it: it takes a seventh of what the service needs to start.
 */
export async function startDevelopmentProvider({ port, issuer: given, ...client }: Settings) {
  // Throws where it is not installed.
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
    /** The origin it listens on, and its pages. */
    origin,
    /** Loads it, which takes as long as the machine is busy, unless it is loaded. */
    load,
    async close(): Promise<void> {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
