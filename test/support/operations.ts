import { type OperationId, operations } from '../../generated/operations.ts'

export interface Operation {
  id: OperationId
  method: string
  /** The operation with `id` as its parameter. */
  path: string
  security: (typeof operations)[OperationId]['security']
}

/** Every operation of the contract. */
export const allOperations: Operation[] = (Object.keys(operations) as OperationId[]).map((id) => {
  const { method, path, security } = operations[id]
  return { id, method, path: path.replace('{id}', 'id'), security }
})
