import type { Operation, Referable, Response } from '../../openapi.ts'
import { type Context, placed } from './visit.ts'

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

/** Every error response must have the Error schema, with a sentence in `error`. */
export function errorAnswers({ except = [] }: { except?: string[] }) {
  return {
    Operation({ operationId, responses = {} }: Operation, context: Context) {
      for (const [status, response] of Object.entries(responses)) {
        if (!/^[45]/.test(status) || except.includes(`${operationId} ${status}`)) continue
        if (!isError(response, context))
          context.report({
            message: `${operationId} does not return the Error schema with ${status}.`,
            location: context.location.child(['responses', status]).key(),
          })
      }
    },
  }
}

function isError(response: Referable<Response>, context: Context): boolean {
  const { node, location = context.location } = context.resolve(response)
  const content = Object.entries(node?.content ?? {})
  return (
    content.length > 0 &&
    content.every(([type, { schema = {} }]) => {
      const error = placed(schema, location, context)
      const { properties = {}, required = [] } = error.schema
      const isText = properties.error && placed(properties.error, error.location, context).schema.type === 'string'
      return type === 'application/json' && isText && required.includes('error')
    })
  )
}

/** The contract must contain the error texts that the interface document lists by status. */
export function errorTexts({ texts = {} }: { texts?: Record<string, string[]> }) {
  const found = new Set<string>()
  return {
    Operation(operation: Operation, context: Context) {
      found.add(`400 ${operation['x-invalid']}`)
      found.add(`404 ${operation['x-not-found']}`)
      for (const [status, response] of Object.entries(operation.responses ?? {}))
        for (const text of textsOf(response, context)) found.add(`${status} ${text}`)
    },
    Root: {
      leave(_: object, { report, location }: Context) {
        for (const [status, list] of Object.entries(texts))
          for (const text of list.filter((text) => !found.has(`${status} ${text}`)))
            report({
              message: `No operation returns ${status} \`${text}\`.`,
              location: location.child(['paths']).key(),
            })
      },
    },
  }
}

function textsOf(response: Referable<Response>, context: Context): unknown[] {
  const { node, location = context.location } = context.resolve(response)
  return Object.values(node?.content ?? {}).flatMap(({ schema = {}, examples = {} }) => {
    const { error = {} } = placed(schema, location, context).schema.properties ?? {}
    const answered = placed(error, location, context).schema.enum ?? []
    return [
      ...answered,
      ...Object.values(examples).flatMap((example) => ('value' in example ? example.value?.error : [])),
    ]
  })
}
