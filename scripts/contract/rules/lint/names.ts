/** Valid contracts from which generators make clients that do not compile, or whose classes have numbers for names. */
import type { Schema } from '../../openapi.ts'
import { type Context, typesOf } from './visit.ts'

const component = /^#\/components\/schemas\/[^/]+$/
/** A condition only restricts what is described elsewhere; a header is text. */
const isNoClass = /\/(if|then|else|not|headers)(\/|$)/

/** A generator makes a class of each object and each list of values. */
export const namedSchemas = naming(
  ({ title }, pointer) => title !== undefined || component.test(pointer),
  'This schema has no name: make it a component, or give it a title.',
)

/** Those for AsyncAPI do not see the names of components in another file. */
export const titledSchemas = naming(({ title }) => title !== undefined, 'This schema has no title.')

function naming(isNamed: (schema: Schema, pointer: string) => boolean, message: string) {
  return () => ({
    Schema(schema: Schema, { report, location }: Context) {
      const isClass = typesOf(schema).includes('object') || schema.enum !== undefined
      const { pointer } = location
      if (isClass && !isNamed(schema, pointer) && !isNoClass.test(pointer)) report({ message, location })
    },
  })
}

/** Classes of the Kotlin clients of openapi-generator, whatever the contract. */
const taken = ['ApiResponse', 'ClientError', 'Informational', 'Redirection', 'ServerError', 'Success']

export function freeNames() {
  return {
    NamedSchemas(schemas: Record<string, object>, { report, location }: Context) {
      for (const name of Object.keys(schemas).filter((name) => taken.includes(name)))
        report({ message: `\`${name}\` is a class of generated clients.`, location: location.child([name]).key() })
    },
  }
}

/** Most languages have no type for one of the two values. */
export function plainBooleans() {
  return {
    Schema(schema: Schema, { report, location }: Context) {
      if (typesOf(schema).includes('boolean') && (schema.enum !== undefined || schema.const !== undefined))
        report({ message: 'A boolean must have neither `enum` nor `const`.', location })
    },
  }
}
