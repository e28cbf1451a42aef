import { type OperationId, operations } from '../../generated/operations.ts'

export interface Operation {
  id: OperationId
  method: string
  /** With the text `id` as its parameter, if it has one. */
  path: string
  security: (typeof operations)[OperationId]['security']
}

/** Every operation of the contract. */
export const allOperations: Operation[] = (Object.keys(operations) as OperationId[]).map((id) => {
  const { method, path, security } = operations[id]
  return { id, method, path: path.replace('{id}', 'id'), security }
})
