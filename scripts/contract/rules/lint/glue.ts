/** Valid OpenAPI that fastify-openapi-glue, which makes the routes of the contract, does not handle. */
import type { Referable, Schema } from '../../openapi.ts'
import { type Context, placed } from './visit.ts'

/** HTTP ignores the case of header names; fastify-openapi-glue does not. */
export function lowerCaseHeaders() {
  return {
    Parameter(parameter: { in?: string; name: string }, { report, location }: Context) {
      if (parameter.in === 'header' && isUpper(parameter.name))
        report({
          message: `The header \`${parameter.name}\` is not in lower case.`,
          location: location.child(['name']),
        })
    },
    WsChannelBinding(binding: { headers?: Referable<Schema> }, context: Context) {
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

const component = /^#\/components\/[^/]+\/[^/]+$/

/** Such a component is an alias, and with fastify-openapi-glue it accepts anything. */
export function noBareRefComponent() {
  return {
    ref(_: object, { report, location }: Context) {
      if (component.test(location.pointer)) report({ message: 'A component must be more than a `$ref`.', location })
    },
  }
}

/** OpenAPI 3.1 allows them, but the service's validators ignore them: use allOf. */
export function noRefSiblings() {
  return {
    ref(node: object, { report, location }: Context) {
      for (const name of Object.keys(node).filter((name) => name !== '$ref'))
        report({ message: `\`${name}\` is next to a \`$ref\`.`, location: location.child([name]).key() })
    },
  }
}
