import type { FastifyInstance } from 'fastify'
import { loginFailures } from '../../../generated/login-failures.ts'
import { ConfigError } from '../config/values.ts'
import { builtFiles, webFolder } from './built.ts'

const serviceWorker = 'service-worker.js'

interface WebAppConfig {
  serveDemo: boolean
  environment: string
  publicUrl: string
}

/** Argon2id is WebAssembly. The page frames itself as a second device; nobody else may frame it. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "frame-ancestors 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** What the page's service worker may load: the files of the page, to keep them. */
const workerPolicy = "default-src 'none'; connect-src 'self'"

/** The pages where a sign-in without a web app ends: the demo app, or else the documents and the reason for a failure. */
export async function registerWebApp(app: FastifyInstance, config: WebAppConfig): Promise<void> {
  if (config.serveDemo) await registerDemo(app)
  else registerPlainPages(app)
  if (config.environment === 'development') redirectToPublicUrl(app, config.publicUrl)
}

/** Serves the demo app at `/`. A failed sign-in returns to `/login?error=`, where the app shows the reason. */
async function registerDemo(app: FastifyInstance): Promise<void> {
  const names = new Set(await builtFiles(webFolder))
  if (!names.delete('index.html') || !names.delete(serviceWorker))
    throw new ConfigError('SERVE_DEMO: the demo app is not built; run `npm run build`')
  const pageHeaders = { 'content-security-policy': pagePolicy, 'x-frame-options': 'SAMEORIGIN' }
  for (const path of ['/', '/login'])
    app.get(path, (_request, reply) => reply.headers(pageHeaders).sendFile('index.html', webFolder))
  // It works for the folder that it is in.
  const workerHeaders = { 'content-security-policy': workerPolicy, 'cache-control': 'no-cache' }
  app.get(`/${serviceWorker}`, (_request, reply) => reply.headers(workerHeaders).sendFile(serviceWorker, webFolder))
  for (const name of names)
    app.get(`/demo/${name}`, (_request, reply) => reply.header('cache-control', 'no-cache').sendFile(name, webFolder))
}

function registerPlainPages(app: FastifyInstance): void {
  app.get('/', (_request, reply) => reply.redirect('/docs'))
  app.get('/login', (request, reply) => {
    const { error } = request.query as { error?: unknown }
    // No other text is ever shown.
    const failure = Object.values(loginFailures).find((message) => message === error) ?? 'Not signed in'
    return reply.type('text/plain; charset=utf-8').send(`${failure}. Start again with POST /api/v1/auth/login.\n`)
  })
}

/** Redirects between localhost and 127.0.0.1, which do not share cookies, so that a sign-in stays on one host. */
function redirectToPublicUrl(app: FastifyInstance, publicUrl: string): void {
  const { host } = new URL(publicUrl)
  app.addHook('onRequest', (request, reply, next) => {
    const isPage = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html')
    const isTwin = /^(localhost|127\.0\.0\.1)(:\d+)?$/.test(request.host) && request.host !== host
    if (isPage && isTwin && /^(localhost|127\.0\.0\.1)(:|$)/.test(host)) reply.redirect(`${publicUrl}${request.url}`)
    else next()
  })
}
