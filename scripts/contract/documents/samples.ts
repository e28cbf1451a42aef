import { type Contract, type Located, operationsOf, type Parameter, type Referable, resolve } from './contract.ts'
import { curlSample } from './curl.ts'
import { exampleOf } from './example.ts'
import { typescriptSample } from './typescript.ts'

/** What a sample sends; each from the contract's examples. */
export interface Call extends Located {
  pathParameters: Record<string, unknown>
  query: Record<string, unknown>
  headers: Record<string, unknown>
  body?: unknown
  /** Whether the answer sets cookies. */
  setsCookies: boolean
}

/** The contract with `x-codeSamples` on each operation. */
export function withSamples(contract: Contract): Contract {
  const copy = structuredClone(contract)
  for (const { path, method, ...operation } of operationsOf(contract)) {
    const call = describe(contract, { path, method, ...operation })
    Object.assign(copy.paths[path]?.[method] ?? {}, {
      'x-codeSamples': [
        { lang: 'Shell', label: 'curl', source: curlSample(call) },
        { lang: 'JavaScript', label: 'TypeScript', source: typescriptSample(call) },
      ],
    })
  }
  return copy
}

function describe(contract: Contract, operation: Located): Call {
  const parameters = (operation.parameters ?? []).map((parameter) => resolve(contract, parameter))
  const shown = (place: Parameter['in'], isShown: (parameter: Parameter) => boolean) =>
    Object.fromEntries(
      parameters
        .filter((parameter) => parameter.in === place && isShown(parameter))
        .map(({ name, schema }) => [name, exampleOf(contract, name === 'x-device-id' ? device : schema)]),
    )
  const device = resolve(contract, { $ref: '#/components/parameters/DeviceId' } as Referable<Parameter>).schema
  const hasDefault = ({ schema }: Parameter) => resolve(contract, schema).default !== undefined
  const always = alwaysShown[operation.operationId] ?? []
  const [success = {}] = Object.entries(operation.responses).flatMap(([status, response]) =>
    /^[23]/.test(status) ? [resolve(contract, response)] : [],
  )
  const body = operation.requestBody?.content['application/json']?.schema
  return {
    ...operation,
    pathParameters: shown('path', () => true),
    query: shown('query', (parameter) => hasDefault(parameter) || always.includes(parameter.name)),
    headers: shown('header', ({ name }) => name === 'x-device-id' || always.includes(name)),
    ...(body && { body: bodyOf(contract, operation, exampleOf(contract, body)) }),
    setsCookies: Object.keys(success.headers ?? {}).includes('Set-Cookie'),
  }
}

/** Optional parameters without which the call says little. */
const alwaysShown: Record<string, string[]> = {
  completeLogin: ['code'],
  openRealtime: ['upgrade', 'x-user-id', 'since'],
}

/**
 * The request of an import demands an id alone, so that the other faults are reported one by one. A change's ids are all
 * the same schema, with one example; those of a sync event tell them apart.
 */
function bodyOf(contract: Contract, { operationId }: Located, body: unknown): unknown {
  if (operationId === 'importBookmarks') return { bookmarks: [exampleOf(contract, schema('ImportBookmark'))] }
  if (operationId !== 'pushChanges') return body
  const change = exampleOf(contract, schema('Change')) as object
  const { id, entity_id, device_id } = exampleOf(contract, schema('SyncEvent')) as Record<string, unknown>
  return { changes: [{ ...change, id, entity_id, device_id }] }
}

function schema(name: string) {
  return { $ref: `#/components/schemas/${name}` }
}
