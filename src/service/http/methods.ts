import type { FastifyInstance } from 'fastify'

/** Returns a function that lists the methods of a path, however many routes it has; for an unknown path, none. */
export function collectMethods(app: FastifyInstance): (url: string) => string[] {
  const routes: { pattern: RegExp; methods: string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    // CORS answers OPTIONS on every path, known or not.
    if (!url.includes('*')) routes.push({ pattern: patternOf(url), methods: [method].flat() })
  })
  return (url) => {
    const [path = ''] = url.split('?', 1)
    const methods = routes.filter(({ pattern }) => pattern.test(path)).flatMap((route) => route.methods)
    return methods.length > 0 ? [...new Set([...methods, 'OPTIONS'])].sort() : []
  }
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll('.', '\\.')))
  return new RegExp(`^${parts.join('/')}$`)
}
