import type { FastifyInstance } from 'fastify'
import type { TestUser } from '../support/app.ts'

/** Calls without checking responses against the contract, for thousands of requests. Throws if not a 2xx. */
export function unchecked(app: FastifyInstance, { cookie }: TestUser) {
  return {
    async call(method: string, url: string, { body, headers = {} }: { body?: unknown; headers?: object } = {}) {
      const response = await app.inject({
        method: method as 'POST',
        url,
        headers: { cookie, 'content-type': 'application/json', ...headers },
        payload: JSON.stringify(body),
      })
      if (response.statusCode >= 300) throw new Error(`${method} ${url} gave ${response.statusCode}: ${response.body}`)
      return { status: response.statusCode, body: response.json() }
    },
  }
}
