import { type Client, createClient } from '../../src/client/index.ts'
import type { TestUser } from '../support/app.ts'

/** A device's way to the service, in this process. */
export interface Connection {
  /** Whose session its requests carry; null: no network. */
  session: TestUser | null
}

export function clientOver(connection: Connection, deviceId: string): Client {
  return createClient({
    baseUrl: 'http://localhost',
    deviceId,
    fetch: async (request) => {
      if (!connection.session) throw new TypeError('There is no network')
      return send(connection.session, request)
    },
  })
}

async function send(session: TestUser, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const payload = request.body === null ? {} : { payload: await request.text() }
  const headers = Object.fromEntries(request.headers)
  const { status, body } = await session.call(request.method, pathname + search, { headers, ...payload })
  return Response.json(body, { status })
}
