import type { Impact } from './impact.ts'

/** The parts of a bundled contract that say which sentences an operation answers. */
export interface Answering {
  paths?: Record<string, Record<string, Operation | undefined>>
  components?: { responses?: Record<string, Response>; schemas?: Record<string, Schema> }
}

export interface TextChange {
  impact: Impact
  /** `POST /api/v1/bookmarks`. */
  calls: string[]
  message: string
}

interface Operation {
  responses?: Record<string, Response | { $ref: string }>
  'x-invalid'?: string
  'x-not-found'?: string
}

interface Response {
  content?: Record<string, { schema?: Schema; examples?: Record<string, { value?: { error?: unknown } }> }>
}

interface Schema {
  $ref?: string
  enum?: unknown[]
  properties?: Record<string, Schema>
}

/** Clients compare these sentences: one that is gone breaks them, an additional one is an error more. */
export function compareErrorTexts(base: Answering, revision: Answering): TextChange[] {
  const before = operations(base)
  const after = operations(revision)
  const kept = [...before.keys()].filter((call) => after.has(call))
  const lost = grouped(kept, (call) => missing(before.get(call), after.get(call)))
  const gained = grouped(kept, (call) => missing(after.get(call), before.get(call)))
  return [
    ...lost.map(([text, calls]) => {
      return { impact: 'major' as const, calls, message: `The error ${text} is no longer answered.` }
    }),
    ...gained.map(([text, calls]) => ({ impact: 'minor' as const, calls, message: `The error ${text} is new.` })),
  ]
}

/** By call, such as `GET /api/v1/health`: each text, with its status in front. */
function operations(contract: Answering): Map<string, Set<string>> {
  const calls = Object.entries(contract.paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      operation?.responses ? [[`${method.toUpperCase()} ${path}`, textsOf(operation, contract)] as const] : [],
    ),
  )
  return new Map(calls)
}

function textsOf(operation: Operation, contract: Answering): Set<string> {
  const own = [operation['x-invalid'] && `400 ${quoted(operation['x-invalid'])}`]
  const notFound = operation['x-not-found'] && `404 ${quoted(operation['x-not-found'])}`
  const answered = Object.entries(operation.responses ?? {}).flatMap(([status, response]) =>
    texts(response, contract).map((text) => `${status} ${quoted(text)}`),
  )
  return new Set([...own, notFound, ...answered].filter((text) => text !== undefined))
}

/** Examples count where the operation gives them itself: shared ones only show how such an error looks. */
function texts(response: Response | { $ref: string }, contract: Answering): unknown[] {
  const shared = '$ref' in response
  const resolved = shared ? contract.components?.responses?.[last(response.$ref)] : response
  return Object.values(resolved?.content ?? {}).flatMap(({ schema, examples }) => {
    const named = schema?.$ref ? contract.components?.schemas?.[last(schema.$ref)] : schema
    const shown = Object.values(shared ? {} : (examples ?? {})).flatMap(({ value }) => value?.error ?? [])
    return [...(named?.properties?.error?.enum ?? []), ...shown]
  })
}

function grouped(calls: string[], textsOf: (call: string) => string[]): [string, string[]][] {
  const byText = new Map<string, string[]>()
  for (const call of calls) for (const text of textsOf(call)) byText.set(text, [...(byText.get(text) ?? []), call])
  return [...byText]
}

function missing(from: Set<string> | undefined, to: Set<string> | undefined): string[] {
  return [...(from ?? [])].filter((text) => !to?.has(text))
}

function quoted(text: unknown): string {
  return `\`${text}\``
}

function last(ref: string): string {
  return ref.split('/').at(-1) ?? ''
}
