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
 * The error texts of an operation, each after its status: clients compare them, so that removing one breaks them, and
 * adding one does not.
 */
export function errorTextsOf({ responses = {}, ...own }: Operation, contract: Contract): Set<string> {
  const answered = Object.entries(responses).flatMap(([status, response]) =>
    texts(response, contract).map((text) => [status, text]),
  )
  const all = [['400', textOf(own['x-invalid'], contract)], ['404', textOf(own['x-not-found'], contract)], ...answered]
  return new Set(all.flatMap(([status, text]) => (text === undefined ? [] : [`${status} ${text}`])))
}

/** The text of an error in the contract's list; in contracts without one, operations have the text itself. */
function textOf(code: string | undefined, { components }: Contract): string | undefined {
  const example = components?.examples?.[code ?? '']
  return example && 'value' in example ? said(example.value.error, code) : code && said(code)
}

/** The text and its name in the list, which programs compare instead (`X-Error-Code`). */
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
