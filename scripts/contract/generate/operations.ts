import type { Contract, Operation } from './contract.ts'

const methods = ['get', 'put', 'post', 'delete']

/** The operationIds with method, path and security, as a TypeScript module. */
export function operationList(contract: Contract): string {
  const list = Object.entries(contract.paths ?? {}).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      return operation ? [{ ...operation, method: method.toUpperCase(), path }] : []
    }),
  )
  const lines = list.map(
    ({ operationId, method, path, security }) =>
      `  ${operationId}: { method: '${method}', path: '${path}', security: '${securityOf(security)}' },`,
  )
  return `export const operations = {\n${lines.join('\n')}\n} as const\n\nexport type OperationId = keyof typeof operations\n`
}

/** Where nothing is said, the document's default holds: the session cookie. */
function securityOf(security: Operation['security']): string {
  if (security === undefined) return 'sessionCookie'
  const [scheme] = security.flatMap(Object.keys)
  const optional = security.some((requirement) => Object.keys(requirement).length === 0)
  return scheme === undefined ? 'none' : optional ? 'optional' : scheme
}
