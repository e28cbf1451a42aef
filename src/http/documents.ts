import { readdir } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyStaticOptions } from '@fastify/static'
import type { FastifyInstance } from 'fastify'

const repository = fileURLToPath(new URL('../../', import.meta.url))
const folder = fileURLToPath(new URL('../../dist/docs/', import.meta.url))

/** The plugin knows them by older names. */
const types: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.yaml': 'application/yaml; charset=utf-8',
}

/** It serves nothing by itself: `reply.sendFile` sends what a route names, always whole. */
export const fileOptions: FastifyStaticOptions = {
  serve: false,
  acceptRanges: false,
  cacheControl: false,
  // Made of size and time, it would stay the same for a changed file where builds have a fixed time.
  etag: false,
  lastModified: false,
  setHeaders(reply, path) {
    const type = types[extname(path)]
    if (type) reply.type(type)
  },
}

/** Redoc styles its page from script and searches in a worker; everything it loads comes from here. */
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

/** The contract as written, and the documents that `npm run build` made of it; all assets local. */
export async function registerDocuments(app: FastifyInstance): Promise<void> {
  for (const name of ['openapi.yaml', 'asyncapi.yaml'])
    app.get(`/${name}`, (_request, reply) => reply.sendFile(name, repository))
  const names = await builtFiles(folder)
  if (names.length === 0) return sayWhatToRun(app)
  // The documents name each other relative to their folder.
  app.get('/docs', (_request, reply) => reply.redirect('/docs/'))
  for (const name of names) serve(app, name)
}

/** Each is given a route of its own, so that nobody can ask for anything else on the disk. */
export async function builtFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile() && !entry.name.startsWith('.')).map(({ name }) => name)
}

function serve(app: FastifyInstance, name: string): void {
  const isPage = name.endsWith('.html')
  const headers = {
    'cache-control': name === 'redoc.standalone.js' ? 'public, max-age=3600' : 'no-cache',
    ...(isPage && { 'content-security-policy': pagePolicy }),
  }
  const page = isPage ? [`/docs/${name === 'index.html' ? '' : name.slice(0, -5)}`] : []
  for (const path of [`/docs/${name}`, ...page])
    app.get(path, (_request, reply) => reply.headers(headers).sendFile(name, folder))
}

/** The service does its work without them. */
function sayWhatToRun(app: FastifyInstance): void {
  app.log.warn('the documents are not built, so /docs is empty: run `npm run build`')
  for (const path of ['/docs', '/docs/']) {
    app.get(path, (_request, reply) =>
      reply.code(404).type('text/plain; charset=utf-8').send('The documents are not built: run `npm run build`.\n'),
    )
  }
}
