import { type Context, placed, type Schema } from './visit.ts'

/** HTTP does not care, fastify-openapi-glue does. */
export function lowerCaseHeaders() {
  return {
    Parameter(parameter: { in?: string; name: string }, { report, location }: Context) {
      if (parameter.in === 'header' && isUpper(parameter.name))
        report({
          message: `The header \`${parameter.name}\` is not in lower case.`,
          location: location.child(['name']),
        })
    },
    WsChannelBinding(binding: { headers?: Schema }, context: Context) {
      if (!binding.headers) return
      const { schema, location } = placed(binding.headers, context.location.child(['headers']), context)
      for (const name of Object.keys(schema.properties ?? {}).filter(isUpper)) {
        const at = location.child(['properties', name]).key()
        context.report({ message: `The header \`${name}\` is not in lower case.`, location: at })
      }
    },
  }
}

function isUpper(name: string): boolean {
  return name !== name.toLowerCase()
}
