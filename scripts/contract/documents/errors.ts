import { type Contract, operationsOf, resolve } from '../openapi.ts'
import { listedErrors, loginFailuresOf } from '../texts.ts'

/** The contract's errors as rows of a table: those with the same status and the same remedy share one. */
export function errorRows(contract: Contract): string {
  const rows = Map.groupBy(listedErrors(contract), ({ status, remedy }) => `${status} ${remedy}`)
  return [...rows.values()]
    .map((errors) => {
      const texts = errors.map(({ text }) => `\`${text}\``).join(', ')
      return `| ${errors[0]?.status} | ${texts} | ${errors[0]?.remedy} |\n`
    })
    .join('')
}

/** The messages of a failed sign-in as a list. */
export function loginFailureLines(contract: Contract): string {
  return Object.values(loginFailuresOf(contract))
    .map((message) => `- \`${message}\`\n`)
    .join('')
}

/** The contract with the error of a malformed body among each operation's examples, which `x-invalid` only names. */
export function withBodyErrors(contract: Contract): Contract {
  const copy = structuredClone(contract)
  for (const { path, method, 'x-invalid': code } of operationsOf(copy)) {
    const { responses = {} } = copy.paths?.[path]?.[method] ?? {}
    const response = responses['400'] && structuredClone(resolve(copy, responses['400']))
    const media = response?.content?.['application/json']
    if (!code || !response || !media) continue
    media.examples = { [code]: { $ref: `#/components/examples/${code}` }, ...media.examples }
    responses['400'] = response
  }
  return copy
}
