import { readdir, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { ConfigError } from '../config/values.ts'

const folder = new URL('../../dist/web/', import.meta.url)
const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
}

/** Argon2id is WebAssembly. The page shows itself in a frame as a second device; nobody else may frame it. */
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

/** The demo app at `/`; a failed sign-in comes back to `/login?error=`, where the app shows the reason. */
export async function registerDemo(app: FastifyInstance): Promise<void> {
  const page = await read('index.html')
  for (const path of ['/', '/login']) {
    app.get(path, (_request, reply) =>
      reply
        .type('text/html; charset=utf-8')
        .headers({ 'content-security-policy': pagePolicy, 'x-frame-options': 'SAMEORIGIN' })
        .send(page),
    )
  }
  for (const name of await readdir(folder)) {
    const type = types[extname(name)]
    if (type === undefined) continue
    const content = await read(name)
    app.get(`/demo/${name}`, (_request, reply) => reply.type(type).header('cache-control', 'no-cache').send(content))
  }
}

async function read(name: string): Promise<Buffer> {
  return readFile(new URL(name, folder)).catch((cause: unknown) => {
    throw new ConfigError('SERVE_DEMO: the demo app is not built; run `npm run build`', { cause })
  })
}
