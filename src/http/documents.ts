import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { FastifyInstance } from 'fastify'

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
  const redoc = await loadRedoc()
  app.get('/docs', (_request, reply) =>
    reply.type('text/html; charset=utf-8').header('content-security-policy', pagePolicy).send(page),
  )
  app.get('/docs/redoc.standalone.js', (_request, reply) =>
    reply.type('text/javascript; charset=utf-8').header('cache-control', 'public, max-age=3600').send(redoc),
  )
}

/** Redoc's bundle shows its maker's logo from another host, which the page's policy refuses: an empty picture stands in. */
async function loadRedoc(): Promise<string> {
  const bundle = await readFile(createRequire(import.meta.url).resolve('redoc/bundles/redoc.standalone.js'), 'utf8')
  const empty = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E"
  return bundle.replaceAll('https://cdn.redoc.ly/redoc/logo-mini.svg', empty)
}
