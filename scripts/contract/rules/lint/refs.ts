import type { Context, Ref } from './visit.ts'

const component = /^#\/components\/[^/]+\/[^/]+$/

/** A second name for the same thing; fastify-openapi-glue takes such a component for one that accepts anything. */
export function noBareRefComponent() {
  return {
    ref(_: Ref, { report, location }: Context) {
      if (component.test(location.pointer)) report({ message: 'A component is more than a `$ref`.', location })
    },
  }
}

/** Redocly allows them where OpenAPI 3.1 does; the service's validators drop all of them: use allOf. */
export function noRefSiblings() {
  return {
    ref(node: Ref, { report, location }: Context) {
      for (const name of Object.keys(node).filter((name) => name !== '$ref'))
        report({ message: `\`${name}\` stands beside a \`$ref\`.`, location: location.child([name]).key() })
    },
  }
}
