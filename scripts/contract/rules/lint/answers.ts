import type { Contract, Example, Operation, Referable, Schema } from '../../openapi.ts'
import type { Context, Location } from './visit.ts'

/** An operation that requires a session must document 401 and 429. */
export function securedAnswers() {
  let inherited: Operation['security']
  return {
    Root(root: { security?: Operation['security'] }) {
      inherited = root.security
    },
    Operation({ operationId, security = inherited, responses = {} }: Operation, { report, location }: Context) {
      if (!security?.some((requirement) => Object.keys(requirement).length > 0)) return
      for (const status of ['401', '429'].filter((status) => !(status in responses)))
        report({
          message: `${operationId} requires credentials but does not document ${status}.`,
          location: location.key(),
        })
    },
  }
}

/** Every error response must have the one schema of errors: a generated client makes a class of each. */
export function errorAnswers({ except = [] }: { except?: string[] }) {
  return {
    Operation({ operationId, responses = {} }: Operation, context: Context) {
      for (const [status, response] of Object.entries(responses)) {
        if (!/^[45]/.test(status) || except.includes(`${operationId} ${status}`)) continue
        const { content = {} } = context.resolve(response).node ?? {}
        if (Object.keys(content).join() !== 'application/json' || !isError(content['application/json']?.schema))
          context.report({
            message: `${operationId} does not return the Error schema with ${status}.`,
            location: context.location.child(['responses', status]).key(),
          })
      }
    },
  }
}

function isError(schema: Referable<Schema> | undefined): boolean {
  return schema !== undefined && '$ref' in schema && schema.$ref === '#/components/schemas/Error'
}

/**
 * Every error response must list its texts, which all are examples in the contract's components, each with its status. A
 * response may show an example of its own, too, if its text names a fault. No text is listed that nobody returns.
 */
export function errorTexts({ general = [] }: { general?: string[] }) {
  const used = new Set(general)
  const statuses = new Map<string, string>()

  function check(code: string, status: string, location: Location, { report }: Context): void {
    used.add(code)
    if (statuses.get(code) !== status) report({ message: `There is no error \`${code}\` with ${status}.`, location })
  }

  return {
    Operation(operation: Operation, context: Context) {
      const { operationId, responses = {}, 'x-invalid': invalid, 'x-not-found': notFound } = operation
      if (invalid) check(invalid, '400', context.location.child(['x-invalid']), context)
      if (notFound) check(notFound, '404', context.location.child(['x-not-found']), context)
      for (const [status, response] of Object.entries(responses)) {
        const { node, location: shared } = context.resolve(response)
        const location = ('$ref' in response && shared) || context.location.child(['responses', status])
        const { schema, examples = {} } = node?.content?.['application/json'] ?? {}
        if (!isError(schema)) continue
        if (Object.keys(examples).length === 0)
          context.report({ message: `${operationId} lists no text for ${status}.`, location: location.key() })
        for (const [name, example] of Object.entries(examples)) {
          const at = location.child(['content', 'application/json', 'examples', name])
          if ('$ref' in example) check(example.$ref.replace('#/components/examples/', ''), status, at, context)
        }
      }
    },
    Root: {
      enter({ components }: Contract) {
        for (const [code, example] of Object.entries(components?.examples ?? {}))
          statuses.set(code, String((example as Example)['x-status']))
      },
      leave(_: object, { report, location }: Context) {
        for (const code of [...statuses.keys()].filter((code) => !used.has(code)))
          report({
            message: `No operation returns \`${code}\`.`,
            location: location.child(['components', 'examples', code]),
          })
      },
    },
  }
}
