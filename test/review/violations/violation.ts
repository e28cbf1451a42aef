/** One fault put into a copy of a contract. */
export interface Violation {
  name: string
  /** Where in the document, and what is there then; undefined takes away. */
  put: [steps: Steps, value?: unknown]
  rule: string
  /** JSON pointer of the place that is named; without it, the place of the fault. */
  at?: string
}

export type Steps = (string | number)[]

export function schema(name: string, ...steps: Steps): Steps {
  return ['components', 'schemas', name, ...steps]
}

export function field(type: string, name: string, ...steps: Steps): Steps {
  return schema(type, 'properties', name, ...steps)
}

export const text = { type: 'string', maxLength: 64, description: 'A sentence.', examples: ['Out of order'] }
