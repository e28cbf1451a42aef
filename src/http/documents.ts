import { extname } from 'node:path'
import type { FastifyStaticOptions } from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { builtFiles, contractFolder, docsFolder } from './built.ts'

/** Types for which the plugin would send outdated names. */
const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.yaml': 'application/yaml; charset=utf-8',
}

/** The plugin serves nothing by itself: `reply.sendFile` sends the file that a route names, always as a whole. */
export const fileOptions: FastifyStaticOptions = {
  serve: false,
  acceptRanges: false,
  cacheControl: false,
  // Derived from size and time, an ETag would not change with the file where builds have a fixed time.
  etag: false,
  lastModified: false,
  setHeaders(reply, path) {
    const type = types[extname(path)]
    if (type) reply.type(type)
  },
}

/** Redoc sets styles by script and searches in a worker; everything it loads comes from this service. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  'worker-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Serves the contract as written and the documents that `npm run build` made from it; all assets are local. */
export async function registerDocuments(app: FastifyInstance): Promise<void> {
  for (const name of ['openapi.yaml', 'asyncapi.yaml'])
    app.get(`/${name}`, (_request, reply) => reply.sendFile(name, contractFolder))
  const names = await builtFiles(docsFolder)
  if (names.length === 0) return sayWhatToRun(app)
  // The documents link to each other by relative paths.
  app.get('/docs', (_request, reply) => reply.redirect('/docs/'))
  for (const name of names) serve(app, name)
}

function serve(app: FastifyInstance, name: string): void {
  const isPage = name.endsWith('.html')
  const headers = {
    'cache-control': name === 'redoc.standalone.js' ? 'public, max-age=3600' : 'no-cache',
    ...(isPage && { 'content-security-policy': pagePolicy }),
  }
  const page = isPage ? [`/docs/${name === 'index.html' ? '' : name.slice(0, -5)}`] : []
  for (const path of [`/docs/${name}`, ...page])
    app.get(path, (_request, reply) => reply.headers(headers).sendFile(name, docsFolder))
}

/** The service also works without the documents. */
function sayWhatToRun(app: FastifyInstance): void {
  app.log.warn('the documents are not built, so /docs is empty: run `npm run build`')
  for (const path of ['/docs', '/docs/']) {
    app.get(path, (_request, reply) =>
      reply.code(404).type('text/plain; charset=utf-8').send('The documents are not built: run `npm run build`.\n'),
    )
  }
}
