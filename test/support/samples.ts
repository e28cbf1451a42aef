import openapi from '../../generated/openapi.json' with { type: 'json' }
import { type Contract, operationsOf } from '../../scripts/contract/openapi.ts'
import { samplesOf } from '../../scripts/docs/samples.ts'

const contract = openapi as unknown as Contract

/** The code samples that the documents show for each operation. */
export const samples = operationsOf(contract).map((operation) => ({
  operationId: operation.operationId,
  ...samplesOf(contract, operation),
}))
