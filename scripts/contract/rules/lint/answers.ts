import { type Context, type Operation, placed, type Response } from './visit.ts'

/** Whoever needs a session can be without one, and can call too often. */
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
          message: `${operationId} wants credentials but does not document ${status}.`,
          location: location.key(),
        })
    },
  }
}

/** Whatever goes wrong, clients find a sentence in `error`. */
export function errorAnswers({ except = [] }: { except?: string[] }) {
  return {
    Operation({ operationId, responses = {} }: Operation, context: Context) {
      for (const [status, response] of Object.entries(responses)) {
        if (!/^[45]/.test(status) || except.includes(`${operationId} ${status}`)) continue
        if (!isError(response, context))
          context.report({
            message: `${operationId} does not answer ${status} with the Error schema.`,
            location: context.location.child(['responses', status]).key(),
          })
      }
    },
  }
}

function isError(response: Response, context: Context): boolean {
  const { node, location } = context.resolve<Response>(response)
  const content = Object.entries(node?.content ?? {})
  return (
    content.length > 0 &&
    content.every(([type, { schema = {} }]) => {
      const error = placed(schema, location ?? context.location, context)
      const field = error.schema.properties?.error
      const isText = field !== undefined && placed(field, error.location, context).schema.type === 'string'
      return type === 'application/json' && isText && (error.schema.required ?? []).includes('error')
    })
  )
}
