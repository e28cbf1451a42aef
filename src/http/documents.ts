import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { FastifyInstance } from 'fastify'

const folder = new URL('../../dist/docs/', import.meta.url)
const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
  '.yaml': 'application/yaml; charset=utf-8',
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
  for (const name of ['openapi.yaml', 'asyncapi.yaml']) {
    const content = await readFile(new URL(`../../${name}`, import.meta.url))
    app.get(`/${name}`, (_request, reply) => reply.type('application/yaml; charset=utf-8').send(content))
  }
  const names = await readdir(folder).catch(() => [])
  if (names.length === 0) return sayWhatToRun(app)
  // The documents name each other relative to their folder.
  app.get('/docs', (_request, reply) => reply.redirect('/docs/'))
  for (const name of names) await serve(app, name)
}

async function serve(app: FastifyInstance, name: string): Promise<void> {
  const type = types[extname(name)]
  if (type === undefined) return
  const content = await readFile(new URL(name, folder))
  const headers = {
    'content-type': type,
    'cache-control': name === 'redoc.standalone.js' ? 'public, max-age=3600' : 'no-cache',
    ...(type.startsWith('text/html') && { 'content-security-policy': pagePolicy }),
  }
  const page = name.endsWith('.html') ? [`/docs/${name === 'index.html' ? '' : name.slice(0, -5)}`] : []
  for (const path of [`/docs/${name}`, ...page])
    app.get(path, (_request, reply) => reply.headers(headers).send(content))
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
