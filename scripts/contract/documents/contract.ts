/** What the documents read of generated/openapi.json. */
export interface Contract {
  info: { title: string; version: string; description: string }
  paths: Record<string, Record<string, Operation> & { parameters?: Referable<Parameter>[] }>
  components: {
    schemas: Record<string, Schema>
    parameters: Record<string, Parameter>
    responses: Record<string, Response>
  }
}

interface Operation {
  operationId: string
  tags: string[]
  security?: Record<string, unknown>[]
  parameters?: Referable<Parameter>[]
  requestBody?: { content: Record<string, Content> }
  responses: Record<string, Referable<Response>>
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Referable<Schema>
}

interface Response {
  headers?: Record<string, unknown>
  content?: Record<string, Content>
}

interface Content {
  schema: Referable<Schema>
}

export interface Schema {
  type?: string | string[]
  enum?: unknown[]
  examples?: unknown[]
  default?: unknown
  required?: string[]
  properties?: Record<string, Referable<Schema>>
  items?: Referable<Schema>
  then?: { required?: string[] }
}

export type Referable<T extends object> = T | { $ref: string }

/** An operation with where it is. */
export interface Located extends Operation {
  method: string
  path: string
}

const methods = ['get', 'put', 'post', 'delete']

export function operationsOf(contract: Contract): Located[] {
  return Object.entries(contract.paths).flatMap(([path, { parameters = [], ...item }]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      return operation
        ? [{ ...operation, method, path, parameters: [...parameters, ...(operation.parameters ?? [])] }]
        : []
    }),
  )
}

export function resolve<T extends object>(contract: Contract, value: Referable<T>): T {
  if (!('$ref' in value)) return value
  const [, , kind = '', name = ''] = value.$ref.split('/')
  const found = (contract.components as Record<string, Record<string, unknown>>)[kind]?.[name]
  if (found === undefined) throw new Error(`${value.$ref} is not in the contract`)
  return resolve(contract, found as Referable<T>)
}
