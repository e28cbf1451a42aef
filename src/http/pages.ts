import type { FastifyInstance } from 'fastify'

import { registerDemo } from './demo.ts'

interface PageConfig {
  serveDemo: boolean
  environment: string
  publicUrl: string
}

/** The fixed messages of a failed sign-in (the contract's completeLogin lists them); no other text is ever shown. */
const loginFailures = [
  'Login expired or was started in another browser',
  'Login was refused by the identity provider',
  'Identity provider is not available',
  'Login failed',
]

/** Where a sign-in ends that names no web app: the demo app, or else the documents and the reason of a failure. */
export async function registerPages(app: FastifyInstance, config: PageConfig): Promise<void> {
  if (config.serveDemo) await registerDemo(app)
  else registerPlainPages(app)
  if (config.environment === 'development') redirectToPublicUrl(app, config.publicUrl)
}

function registerPlainPages(app: FastifyInstance): void {
  app.get('/', (_request, reply) => reply.redirect('/docs'))
  app.get('/login', (request, reply) => {
    const { error } = request.query as { error?: unknown }
    const failure = loginFailures.find((message) => message === error) ?? 'Not signed in'
    return reply.type('text/plain; charset=utf-8').send(`${failure}. Start again with POST /api/v1/auth/login.\n`)
  })
}

/** Cookies of localhost are not those of 127.0.0.1: pages of one lead to the other, so that a sign-in stays on one host. */
function redirectToPublicUrl(app: FastifyInstance, publicUrl: string): void {
  const { host } = new URL(publicUrl)
  app.addHook('onRequest', async (request, reply) => {
    const isPage = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html')
    const isTwin = /^(localhost|127\.0\.0\.1)(:\d+)?$/.test(request.host) && request.host !== host
    if (isPage && isTwin && /^(localhost|127\.0\.0\.1)(:|$)/.test(host))
      return reply.redirect(`${publicUrl}${request.url}`)
  })
}
