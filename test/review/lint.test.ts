/** The contract obeys the house rules of redocly.yaml, and the lint finds a violation of each rule at its place. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { redocly } from '../../scripts/contract/redocly.ts'
import { asyncapiViolations, openapiViolations, type Steps, type Violation } from './violations.ts'

const root = new URL('../../', import.meta.url)
const folder = t.testdir()
const reports = await lint([
  'openapi.yaml',
  'asyncapi.yaml',
  await write('openapi.json', openapi, openapiViolations),
  await write('asyncapi.json', asyncapi, asyncapiViolations),
])

t.test('The contract obeys all rules, without a warning and without an ignore file', async (t) => {
  const clean = { totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] }
  t.match(reports.slice(0, 2), [clean, clean])
  t.notOk(existsSync(new URL('.redocly.lint-ignore.yaml', root)))
})

t.test('Each violation in openapi.yaml is reported at its place, and nothing else is', async (t) => {
  t.same(...comparison(openapiViolations, reports[2]))
})

t.test('Each violation in asyncapi.yaml is reported at its place, and nothing else is', async (t) => {
  t.same(...comparison(asyncapiViolations, reports[3]))
})

/** Writes a copy of the contract that has all these violations. */
async function write(file: string, contract: object, violations: Violation[]): Promise<string> {
  const copy = structuredClone(contract)
  for (const { steps, value } of violations) change(copy, steps, value)
  const path = join(folder, file)
  await writeFile(path, JSON.stringify(copy))
  return path
}

function change(document: object, [step = '', ...rest]: Steps, value: unknown): void {
  const node = document as Record<string | number, unknown>
  if (rest.length > 0) change(node[step] as object, rest, value)
  else if (value === undefined) delete node[step]
  else node[step] = value
}

/** The actual and the expected problems, one per line and sorted. */
function comparison(violations: Violation[], { problems }: Report = { problems: [] }): [string[], string[]] {
  const expected = violations.map(({ name, rule, at }) => ({ name, line: `${rule} ${pointer(at)}` }))
  const names = new Map(expected.map(({ name, line }) => [line, name]))
  const found = problems.map(({ ruleId, severity, message, location: [place] }) => {
    const line = `${ruleId} ${place?.pointer}`
    return `${severity} ${line}: ${names.get(line) ?? message}`
  })
  return [found.sort(), expected.map(({ name, line }) => `error ${line}: ${name}`).sort()]
}

function pointer(steps: Steps): string {
  return ['#', ...steps.map((step) => String(step).replaceAll('/', '~1'))].join('/')
}

interface Report {
  problems: { ruleId: string; message: string; severity: string; location: { pointer: string }[] }[]
}

/** Lints the files. Redocly prints one report per file, one after another. */
async function lint(files: string[]): Promise<Report[]> {
  const { stdout } = await redocly(root, 'lint', ...files, '--format=json').catch((error) => error)
  return JSON.parse(`[${stdout.replaceAll('\n}{\n', '\n},{\n')}]`)
}
