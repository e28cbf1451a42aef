import { type Context, type Operation, placed, type Response } from './visit.ts'

/** The sentences that the interface lists, by status, stand in the contract. */
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
              message: `No operation answers ${status} \`${text}\`.`,
              location: location.child(['paths']).key(),
            })
      },
    },
  }
}

function textsOf(response: Response, context: Context): unknown[] {
  const { node, location } = context.resolve<Response>(response)
  return Object.values(node?.content ?? {}).flatMap(({ schema = {}, examples = {} }) => {
    const answered = placed(schema, location ?? context.location, context).schema.properties?.error?.enum ?? []
    return [...answered, ...Object.values(examples).map(({ value }) => value?.error)]
  })
}
