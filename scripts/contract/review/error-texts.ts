import {
  type Contract,
  type Example,
  nameOf,
  type Operation,
  type Referable,
  type Response,
  resolve,
} from '../openapi.ts'

/**
 * The errors of an operation, each with its status, text and code. Clients compare these, so removing one is breaking,
 * and adding one is not.
 */
export function errorTextsOf({ responses = {}, ...own }: Operation, contract: Contract): Set<string> {
  const answered = Object.entries(responses).flatMap(([status, response]) =>
    texts(response, contract).map((text) => [status, text]),
  )
  const all = [['400', textOf(own['x-invalid'], contract)], ['404', textOf(own['x-not-found'], contract)], ...answered]
  return new Set(all.flatMap(([status, text]) => (text === undefined ? [] : [`${status} ${text}`])))
}

/** The text of the error with this code. In old contracts, which do not list errors, the code is the text itself. */
function textOf(code: string | undefined, { components }: Contract): string | undefined {
  const example = components?.examples?.[code ?? '']
  return example && 'value' in example ? said(example.value.error, code) : code && said(code)
}

/** An error's text with its code (`X-Error-Code`), because clients may compare either. */
function said(text: unknown, code?: string): string {
  return code === undefined ? `\`${text}\`` : `\`${text}\` (\`${code}\`)`
}

/**
 * The texts of a response: the schema's values, and examples that refer to a listed error. Without such examples, those
 * of an operation's own response count, as in old contracts. Those of a shared response only illustrate it.
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
