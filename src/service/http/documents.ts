import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { FastifyStaticOptions } from '@fastify/static'
import type { FastifyInstance } from 'fastify'
import { builtFiles, contractFolder, docsFolder } from './built.ts'
import { readOnce } from './read-once.ts'

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

interface DocumentsConfig {
  publicUrl: string
  appUrl: string | undefined
  serveDemo: boolean
}

/** Everything that a page loads comes from this service. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
/** Redoc sets styles by script and searches in a worker. */
const referencePolicy = `${pagePolicy.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")}; font-src 'self' data:; worker-src blob:`

/** Serves the contract as written and the documents that `npm run build` made from it; all assets are local. */
export async function registerDocuments(app: FastifyInstance, config: DocumentsConfig): Promise<void> {
  for (const name of ['openapi.yaml', 'asyncapi.yaml'])
    app.get(`/${name}`, (_request, reply) => reply.sendFile(name, contractFolder))
  const names = await builtFiles(docsFolder)
  if (names.length === 0) return sayWhatToRun(app)
  // The documents link to each other by relative paths.
  app.get('/docs', (_request, reply) => reply.redirect('/docs/'))
  for (const name of names) serve(app, name, config)
  leadBack(app, config)
}

/** Who follows an outdated link gets a page that leads on; a program gets the contract's answer. */
function leadBack(app: FastifyInstance, config: DocumentsConfig): void {
  const readPage = readOnce(() => readAsOurs(join(docsFolder, '404.html'), config))
  app.get<{ Params: { '*': string } }>('/docs/*', async (request, reply) => {
    // Below a further folder, the page would not find its files.
    if (!request.headers.accept?.includes('text/html') || request.params['*'].includes('/')) return reply.callNotFound()
    const page = await readPage()
    reply.headers({ 'cache-control': 'no-store', 'content-security-policy': pagePolicy })
    return reply.code(404).type('text/html; charset=utf-8').send(page)
  })
}

function serve(app: FastifyInstance, name: string, config: DocumentsConfig): void {
  const extension = extname(name)
  const isPage = extension === '.html'
  const headers = {
    'cache-control': name === 'redoc.standalone.js' ? 'public, max-age=3600' : 'no-cache',
    ...(isPage && { 'content-security-policy': name === 'http.html' ? referencePolicy : pagePolicy }),
  }
  const page = isPage ? [`/docs/${name === 'index.html' ? '' : name.slice(0, -5)}`] : []
  const namesService = isPage || extension === '.json'
  const readOurs = readOnce(() => readAsOurs(join(docsFolder, name), config))
  for (const path of [`/docs/${name}`, ...page])
    app.get(path, async (_request, reply) => {
      reply.headers(headers)
      if (!namesService) return reply.sendFile(name, docsFolder)
      return reply.type(isPage ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8').send(await readOurs())
    })
}

/** The samples name the service that a reader of these documents has, and each page leads to its web app. */
async function readAsOurs(file: string, { publicUrl, appUrl, serveDemo }: DocumentsConfig): Promise<string> {
  const app = appUrl ?? (serveDemo ? publicUrl : undefined)
  return (await readFile(file, 'utf8'))
    .replaceAll('http://127.0.0.1:3000', publicUrl)
    .replaceAll('ws://127.0.0.1:3000', publicUrl.replace('http', 'ws'))
    .replaceAll(
      '<!-- the link to the app -->',
      app === undefined ? '' : `<a class="app" href="${app}/">Open the app</a>`,
    )
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
