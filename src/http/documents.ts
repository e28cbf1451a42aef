import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

const redoc = dirname(createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js'))

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Encrypted Bookmark Sync</title>
<link rel="icon" href="data:,">
<style>body { margin: 0 }</style>
</head>
<body>
<redoc spec-url="/openapi.yaml" disable-google-font="true"></redoc>
<script src="/docs/redoc.standalone.js"></script>
</body>
</html>
`

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
  "frame-ancestors 'none'",
].join('; ')

/** The contract as written, and as a page; all assets local. */
export async function registerDocuments(app: FastifyInstance): Promise<void> {
  for (const name of ['openapi.yaml', 'asyncapi.yaml']) {
    const content = await readFile(new URL(`../../${name}`, import.meta.url))
    app.get(`/${name}`, (_request, reply) => reply.type('application/yaml; charset=utf-8').send(content))
  }
  app.get('/docs', (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', pagePolicy).send(page),
  )
  app.get('/', (_request, reply) => reply.redirect('/docs'))
  await app.register(fastifyStatic, { root: redoc, serve: false })
  app.get('/docs/redoc.standalone.js', (_request, reply) => reply.sendFile('redoc.standalone.js', { maxAge: '1h' }))
}
