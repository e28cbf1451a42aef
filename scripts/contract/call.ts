import { type Contract, type Located, type Parameter, type Referable, resolve, type Schema } from './openapi.ts'

/** The request of a sample, made of the contract's examples. */
export type Call = Located & {
  pathParameters: Record<string, unknown>
  query: Record<string, unknown>
  headers: Record<string, unknown>
  body?: unknown
  /** True if the response sets cookies. */
  setsCookies: boolean
}

/** The call of an operation that a sample shows. */
export function callOf(contract: Contract, operation: Located): Call {
  const parameters = (operation.parameters ?? []).map((parameter) => resolve(contract, parameter))
  const shown = (place: string, isShown: (parameter: Parameter) => boolean) =>
    Object.fromEntries(
      parameters
        .filter((parameter) => parameter.in === place && isShown(parameter))
        .map(({ name, schema }) => [name, exampleOf(contract, name === 'x-device-id' ? deviceId : schema)]),
    )
  const deviceId = resolve<Parameter>(contract, { $ref: '#/components/parameters/DeviceId' }).schema
  const hasDefault = ({ schema = {} }: Parameter) => resolve<Schema>(contract, schema).default !== undefined
  const always = alwaysShown[operation.operationId] ?? []
  const [success] = Object.entries(operation.responses ?? {}).flatMap(([status, response]) =>
    /^[23]/.test(status) ? [resolve(contract, response)] : [],
  )
  const body = operation.requestBody && resolve(contract, operation.requestBody).content['application/json']?.schema
  return {
    ...operation,
    pathParameters: shown('path', () => true),
    query: shown('query', (parameter) => hasDefault(parameter) || always.includes(parameter.name)),
    headers: shown('header', ({ name }) => name === 'x-device-id' || always.includes(name)),
    ...(body && { body: bodyOf(contract, operation, body) }),
    setsCookies: Object.keys(success?.headers ?? {}).includes('Set-Cookie'),
  }
}

/** Optional parameters that a useful sample needs. */
const alwaysShown: Record<string, string[]> = {
  completeLogin: ['code'],
  openRealtime: ['upgrade', 'x-user-id', 'since'],
}

/** All ids of a change share one schema and so one example; those of a sync event differ. */
function bodyOf(contract: Contract, { operationId }: Located, body: Referable<Schema>): unknown {
  const example = (name: string) => exampleOf(contract, { $ref: `#/components/schemas/${name}` })
  if (operationId !== 'pushChanges') return exampleOf(contract, body)
  const { id, entity_id, device_id } = example('SyncEvent') as Record<string, unknown>
  return { changes: [{ ...(example('Change') as object), id, entity_id, device_id }] }
}

/**
 * The contract's example for a value. An object has its required fields and those with a default, which are safe to send;
 * other optional fields are left out.
 */
function exampleOf(contract: Contract, schema: Referable<Schema> = {}): unknown {
  const resolved: Schema & { then?: Schema } = resolve(contract, schema)
  const { examples, enum: values, type, properties = {}, required = [], then } = resolved
  if (examples) return examples[0]
  if (values) return values[0]
  if ('items' in resolved && resolved.items) return [exampleOf(contract, resolved.items)]
  if (type !== 'object') throw new Error(`The contract has no example for ${JSON.stringify(schema)}`)
  const needed = [...required, ...(then?.required ?? [])]
  const shown = Object.entries(properties).filter(
    ([name, property]) => needed.includes(name) || resolve(contract, property).default !== undefined,
  )
  return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(contract, property)]))
}
