import {
  type Contract,
  type Example,
  type Located,
  type Parameter,
  type Referable,
  resolve,
  type Schema,
} from './openapi.ts'

/** The request of a code sample, made from the contract's examples. */
export type Call = Located & {
  pathParameters: Record<string, unknown>
  query: Record<string, unknown>
  headers: Record<string, unknown>
  body?: unknown
  setsCookies: boolean
}

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
  const media = operation.requestBody && resolve(contract, operation.requestBody).content['application/json']
  const [example] = Object.values(media?.examples ?? {})
  return {
    ...operation,
    pathParameters: shown('path', () => true),
    query: shown('query', (parameter) => hasDefault(parameter) || always.includes(parameter.name)),
    headers: shown('header', ({ name }) => name === 'x-device-id' || always.includes(name)),
    ...(example && { body: resolve<Example>(contract, example).value }),
    setsCookies: Object.keys(success?.headers ?? {}).includes('Set-Cookie'),
  }
}

/** Optional parameters that are in the samples of these operations. */
const alwaysShown: Record<string, string[]> = {
  completeLogin: ['code'],
  openRealtime: ['upgrade', 'x-user-id', 'since'],
}

/** The first example of a parameter's schema, or its first allowed value. */
function exampleOf(contract: Contract, schema: Referable<Schema> = {}): unknown {
  const { examples, enum: values } = resolve<Schema>(contract, schema)
  return (examples ?? values)?.[0]
}
