import { type Contract, type Example, operationsOf, type Referable, resolve, type Schema } from './openapi.ts'

interface Media {
  schema?: Referable<Schema>
  examples?: Record<string, Referable<Example>>
}

/** An error in `components.examples`: its name, status and text, and what a client can do about it. */
export interface ListedError {
  code: string
  status: number
  text: string
  remedy: string
}

export function listedErrors({ components }: Contract): ListedError[] {
  const examples: Record<string, Referable<Example>> = components?.examples ?? {}
  return Object.entries(examples).flatMap(([code, example]) =>
    '$ref' in example || example['x-status'] === undefined
      ? []
      : [{ code, status: example['x-status'], text: example.value.error, remedy: example.description ?? '' }],
  )
}

/** The messages of a failed sign-in, by name. */
export function loginFailuresOf(contract: Contract): Record<string, string> {
  return Object.assign({}, ...operationsOf(contract).map((operation) => operation['x-login-failures'] ?? {}))
}

/**
 * Copies the contract and adds to error responses their texts as an enum, unless `isOpen`, for checks and types. The
 * published contract has one schema: with enums, generated clients would have many classes, and fail on unknown texts.
 */
export function withTexts(contract: Contract): Contract {
  const copy = structuredClone(contract)
  const responses = [
    ...Object.values(copy.components?.responses ?? {}),
    ...operationsOf(copy).flatMap((operation) => Object.values(operation.responses ?? {})),
  ]
  for (const response of responses) {
    if ('$ref' in response) continue
    for (const media of Object.values(response.content ?? {})) {
      const texts = textsOf(copy, media)
      const { properties = {}, ...error } = resolve<Schema>(copy, media.schema ?? {})
      const listed = { ...properties.error, enum: texts, examples: texts.slice(0, 1) }
      if (texts.length > 0 && !isOpen(media)) media.schema = { ...error, properties: { ...properties, error: listed } }
    }
  }
  return copy
}

/** The listed texts of an error response. */
function textsOf(contract: Contract, { examples = {} }: Media): string[] {
  return Object.values(examples).flatMap((example) =>
    '$ref' in example ? resolve<Example>(contract, example).value.error : [],
  )
}

/** True if an example is written out instead of referring to a listed error: other texts then exist, too. */
function isOpen({ examples = {} }: Media): boolean {
  return Object.values(examples).some((example) => !('$ref' in example))
}
