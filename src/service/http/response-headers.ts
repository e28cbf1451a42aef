import type { FastifyInstance } from 'fastify'

/** Some are for browsers that no longer need them; they cost nothing and please scanners. */
const constant = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'origin-agent-cluster': '?1',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-download-options': 'noopen',
  'x-frame-options': 'SAMEORIGIN',
  'x-permitted-cross-domain-policies': 'none',
  'x-xss-protection': '0',
  'cache-control': 'private, no-store',
  // Whether a response may be read depends on the origin (http/origins.ts).
  vary: 'Origin',
}

/** A year: a browser that was here once comes over https alone. */
const overHttps = { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }

interface HeaderConfig {
  secureCookies: boolean
}

/** What every response has but its id. */
export function responseHeaders({ secureCookies }: HeaderConfig): Record<string, string> {
  return secureCookies ? { ...constant, ...overHttps } : constant
}

/** Sets the headers of every response, also of those that a hook below refuses. A route may replace them. */
export function registerResponseHeaders(app: FastifyInstance, config: HeaderConfig): void {
  const headers = responseHeaders(config)
  app.addHook('onRequest', (request, reply, next) => {
    reply.headers(headers).header('x-request-id', request.id)
    next()
  })
}
