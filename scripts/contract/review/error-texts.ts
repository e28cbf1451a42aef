import {
  type Contract,
  type Example,
  type Operation,
  operationsOf,
  type Referable,
  type Response,
  resolve,
} from '../openapi.ts'
import { nameOf } from './facts.ts'
import type { Impact } from './impact.ts'

export interface TextChange {
  impact: Impact
  /** The calls that it concerns, such as `POST /api/v1/bookmarks`. */
  calls: string[]
  message: string
}

/** Clients compare error texts: removing one breaks them, adding one does not. */
export function compareErrorTexts(base: Contract, revision: Contract): TextChange[] {
  const [before, after] = [textsByCall(base), textsByCall(revision)]
  const kept = [...before.keys()].filter((call) => after.has(call))
  const lost = grouped(kept, (call) => missing(before.get(call), after.get(call)))
  const gained = grouped(kept, (call) => missing(after.get(call), before.get(call)))
  return [
    ...lost.map(([text, calls]) => {
      return { impact: 'major' as const, calls, message: `The error ${text} is no longer returned.` }
    }),
    ...gained.map(([text, calls]) => ({ impact: 'minor' as const, calls, message: `The error ${text} is new.` })),
  ]
}

/** The error texts by call, such as `GET /api/v1/health`; each text follows its status. */
function textsByCall(contract: Contract): Map<string, Set<string>> {
  return new Map(
    operationsOf(contract).map(({ method, path, ...operation }) => [
      `${method.toUpperCase()} ${path}`,
      textsOf(operation, contract),
    ]),
  )
}

function textsOf({ responses = {}, ...own }: Operation, contract: Contract): Set<string> {
  const answered = Object.entries(responses).flatMap(([status, response]) =>
    texts(response, contract).map((text) => [status, text]),
  )
  const all = [['400', textOf(own['x-invalid'], contract)], ['404', textOf(own['x-not-found'], contract)], ...answered]
  return new Set(all.flatMap(([status, text]) => (text === undefined ? [] : [`${status} ${text}`])))
}

/** Of an error in the contract's list; in contracts without one, operations have the text itself. */
function textOf(code: string | undefined, { components }: Contract): string | undefined {
  const example = components?.examples?.[code ?? '']
  return example && 'value' in example ? said(example.value.error, code) : code && said(code)
}

/** With the name in the list, which programs compare instead (`X-Error-Code`). */
function said(text: unknown, code?: string): string {
  return code === undefined ? `\`${text}\`` : `\`${text}\` (\`${code}\`)`
}

/**
 * Listed as references to examples, or the values of the schema. Beside those, and in a shared response, an example only
 * shows what such an error looks like.
 */
function texts(response: Referable<Response>, contract: Contract): string[] {
  return Object.values(resolve(contract, response).content ?? {}).flatMap(({ schema = {}, examples = {} }) => {
    const { error = {} } = resolve(contract, schema).properties ?? {}
    const all = Object.values(examples)
    const listed = all.filter((example) => '$ref' in example)
    const shown = listed.length > 0 || '$ref' in response ? listed : all
    return [
      ...(resolve(contract, error).enum ?? []).map((text) => said(text)),
      ...shown.flatMap((example) => {
        const text = resolve<Example>(contract, example).value?.error
        return text === undefined ? [] : said(text, '$ref' in example ? nameOf(example.$ref) : undefined)
      }),
    ]
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
