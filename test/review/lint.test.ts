/** The house rules of redocly.yaml: the contract keeps them, and one violation of each is caught where it is. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { emptyFolder } from './folder.ts'
import { asyncapiViolations } from './violations/asyncapi.ts'
import { openapiViolations } from './violations/openapi.ts'
import type { Steps } from './violations/violation.ts'

t.jobs = 2

const root = fileURLToPath(new URL('../../', import.meta.url))
const redocly = createRequire(import.meta.url).resolve('@redocly/cli/bin/cli.js')

t.test('the contract keeps all of them, without a warning and without an ignore file', async (t) => {
  t.notOk(existsSync(join(root, '.redocly.lint-ignore.yaml')))
  for (const file of ['openapi.yaml', 'asyncapi.yaml'])
    t.match(await lint(file), { totals: { errors: 0, warnings: 0, ignored: 0 }, problems: [] }, file)
})

const folder = emptyFolder(t)

const documents = [
  { contract: 'openapi', document: openapi, violations: openapiViolations },
  { contract: 'asyncapi', document: asyncapi, violations: asyncapiViolations },
]

for (const { contract, document, violations } of documents)
  for (const [index, { name, put, rule, at = pointer(put[0]) }] of violations.entries())
    t.test(`${contract}: ${name}`, async (t) => {
      const copy = structuredClone(document)
      change(copy, ...put)
      const file = join(folder, `${contract}-${index}.json`)
      await writeFile(file, JSON.stringify(copy))
      const { totals, problems } = await lint(file)
      t.match(problems[0], { ruleId: rule, severity: 'error', location: [{ pointer: at }] })
      t.equal(totals.errors, 1, 'and nothing else')
    })

function change(document: object, [step = '', ...rest]: Steps, value?: unknown): void {
  const node = document as Record<string | number, unknown>
  if (rest.length > 0) change(node[step] as object, rest, value)
  else if (value === undefined) delete node[step]
  else node[step] = value
}

function pointer(steps: Steps): string {
  return ['#', ...steps.map((step) => String(step).replaceAll('/', '~1'))].join('/')
}

interface Report {
  totals: { errors: number; warnings: number; ignored: number }
  problems: { ruleId: string; message: string; severity: string; location: { pointer: string }[] }[]
}

async function lint(file: string): Promise<Report> {
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const args = [redocly, 'lint', file, '--config', join(root, 'redocly.yaml'), '--format=json']
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env }).catch((error) => error)
  return JSON.parse(stdout)
}
