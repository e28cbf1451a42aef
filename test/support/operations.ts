import openapi from '../../generated/openapi.json' with { type: 'json' }
import { type OperationId, operations } from '../../generated/operations.ts'

export interface Operation {
  id: OperationId
  method: string
  /** With `id` in place of its parameter. */
  path: string
  security: 'none' | 'optional' | 'sessionCookie' | 'refreshCookie'
  /** What the contract says of its body; undefined for an operation without one. */
  body: { required: boolean; invalid: string; limit: number } | undefined
  /** The statuses that the contract knows. */
  statuses: number[]
}

interface Documented {
  requestBody?: { required?: boolean }
  responses: Record<string, unknown>
  'x-invalid'?: string
  'x-body-limit'?: number
}

/** Every operation of the contract. */
export function allOperations(pathId = 'id'): Operation[] {
  return (Object.keys(operations) as OperationId[]).map((id) => {
    const { method, path, security } = operations[id]
    const item = openapi.paths[path] as unknown as Record<string, Documented>
    const { requestBody, responses, ...rules } = item[method.toLowerCase()] as Documented
    return {
      id,
      method,
      path: path.replace('{id}', pathId),
      security,
      body: requestBody && {
        required: requestBody.required ?? false,
        invalid: rules['x-invalid'] ?? '',
        limit: rules['x-body-limit'] ?? 1_048_576,
      },
      statuses: Object.keys(responses).map(Number),
    }
  })
}
