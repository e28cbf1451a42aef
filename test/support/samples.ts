import openapi from '../../generated/openapi.json' with { type: 'json' }
import { withSamples } from '../../scripts/contract/documents/samples.ts'
import { type Contract, operationsOf } from '../../scripts/contract/openapi.ts'

/** The code samples that the documents show for each operation. */
export const samples = operationsOf(withSamples(openapi as unknown as Contract)).map((operation) => {
  const { 'x-codeSamples': list } = operation as unknown as { 'x-codeSamples': { label: string; source: string }[] }
  const source = (label: string) => list.find((sample) => sample.label === label)?.source ?? ''
  return { operationId: operation.operationId, curl: source('curl'), typescript: source('TypeScript') }
})
