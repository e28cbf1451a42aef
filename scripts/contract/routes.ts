import fastify, { type RouteOptions } from 'fastify'
import openapiGlue from 'fastify-openapi-glue'
import type { Contract } from './openapi.ts'

/** Keywords that only document a schema. */
const annotations = new Set(['description', 'summary', 'title', 'examples', 'tags', 'x-displayName'])

/** The operations as Fastify routes, one per line, so that the service starts without parsing the contract. */
export async function routeList(contract: Contract): Promise<string> {
  const routes: Pick<RouteOptions, 'method' | 'url' | 'schema'>[] = []
  const app = fastify({ exposeHeadRoutes: false })
  app.addHook('onRoute', ({ method, url, schema }) => {
    routes.push({ method, url, ...(schema && { schema }) })
  })
  app.addContentTypeParser('application/octet-stream', (_request, _payload, done) => done(null))
  await app.register(openapiGlue, {
    specification: structuredClone(contract),
    operationResolver: () => async () => {},
  })
  const lines = routes.map((route) => JSON.stringify(route, withoutAnnotations))
  await app.close()
  return `[\n${lines.join(',\n')}\n]\n`
}

/** A property may have the name of an annotation; then its value is a schema. */
function withoutAnnotations(key: string, value: unknown): unknown {
  return annotations.has(key) && (typeof value === 'string' || Array.isArray(value)) ? undefined : value
}
