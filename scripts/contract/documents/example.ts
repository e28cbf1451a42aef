import { type Contract, type Referable, resolve, type Schema } from './contract.ts'

/**
 * The example that the contract gives for a value. Of an object: what is required, and what has a default, as that is
 * safe to send; other optional fields are left out.
 */
export function exampleOf(contract: Contract, schema: Referable<Schema>): unknown {
  const { examples, enum: values, type, properties = {}, items, ...rest } = resolve(contract, schema)
  if (examples) return examples[0]
  if (values) return values[0]
  if (type === 'array' && items) return [exampleOf(contract, items)]
  if (type !== 'object') throw new Error(`The contract has no example for ${JSON.stringify(schema)}`)
  const required = [...(rest.required ?? []), ...(rest.then?.required ?? [])]
  const shown = Object.entries(properties).filter(
    ([name, property]) => required.includes(name) || resolve(contract, property).default !== undefined,
  )
  return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(contract, property)]))
}
