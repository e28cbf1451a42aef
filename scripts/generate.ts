/**
 * Writes `generated/` from openapi.yaml and asyncapi.yaml; with --check, fails when the committed files differ.
 *
 *   generated/openapi.json, asyncapi.json   the contracts in one file each, as served and validated against
 *   generated/openapi.ts, asyncapi.ts       their types, as a handler sees them: defaults are filled in
 *   generated/client.ts                     the types of openapi.yaml as a caller sees them
 *   generated/operations.ts                 the operationIds, with method, path and security
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { bundle, loadConfig } from '@redocly/openapi-core'
import openapiTS, { astToString, type OpenAPI3, type OpenAPITSOptions } from 'openapi-typescript'

const banner = '// Written by `npm run generate`. Do not edit.\n'
const root = new URL('../', import.meta.url)
const config = await loadConfig()

const openapi = await bundled('openapi.yaml')
const asyncapi = await bundled('asyncapi.yaml')
const files = {
  'generated/openapi.json': json(openapi),
  'generated/asyncapi.json': json(asyncapi),
  'generated/openapi.ts': await types(withDefaultsFilledIn(openapi)),
  'generated/client.ts': await types(openapi, { defaultNonNullable: false }),
  'generated/asyncapi.ts': await types(messagesAsOpenApi(asyncapi)),
  'generated/operations.ts': operations(openapi),
}
if (process.argv.includes('--check')) await check()
else await write()

interface Contract {
  info: { version: string }
  paths?: Record<string, Record<string, Operation | undefined>>
  components: { schemas: Record<string, unknown>; parameters?: Record<string, Parameter> }
}

interface Operation {
  operationId?: string
  security?: Record<string, unknown>[]
  parameters?: Parameter[]
}

interface Parameter {
  required?: boolean
  schema?: { default?: unknown }
}

async function bundled(path: string): Promise<Contract> {
  const { bundle: result, problems } = await bundle({ ref: new URL(path, root).pathname, config })
  const first = problems[0]
  if (first) throw new Error(`${path}: ${first.message}`)
  return result.parsed as Contract
}

async function types(document: object, options: OpenAPITSOptions = {}): Promise<string> {
  return banner + astToString(await openapiTS(document as OpenAPI3, options))
}

/** A handler never sees a parameter with a default unset; openapi-typescript knows that of bodies alone. */
function withDefaultsFilledIn(contract: Contract): Contract {
  const copy = structuredClone(contract)
  const operations = Object.values(copy.paths ?? {}).flatMap((item) => Object.values(item))
  const parameters = operations.flatMap((operation) => operation?.parameters ?? [])
  for (const parameter of [...parameters, ...Object.values(copy.components.parameters ?? {})]) {
    if (parameter.schema && 'default' in parameter.schema) parameter.required = true
  }
  return copy
}

/** openapi-typescript reads OpenAPI only, so the message schemas are lifted into a throw-away document. */
function messagesAsOpenApi(contract: Contract): object {
  const { info, components } = contract
  return { openapi: '3.1.0', info, paths: {}, components: { schemas: components.schemas } }
}

function operations(contract: Contract): string {
  const methods = ['get', 'put', 'post', 'delete']
  const list = Object.entries(contract.paths ?? {}).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      return operation ? [{ ...operation, method: method.toUpperCase(), path }] : []
    }),
  )
  const lines = list.map(
    ({ operationId, method, path, security }) =>
      `  ${operationId}: { method: '${method}', path: '${path}', security: '${securityOf(security)}' },`,
  )
  return `${banner}export const operations = {\n${lines.join('\n')}\n} as const\n\nexport type OperationId = keyof typeof operations\n`
}

/** Where nothing is said, the document's default holds: the session cookie. */
function securityOf(security: Operation['security']): string {
  if (security === undefined) return 'sessionCookie'
  const [scheme] = security.flatMap(Object.keys)
  const optional = security.some((requirement) => Object.keys(requirement).length === 0)
  return scheme === undefined ? 'none' : optional ? 'optional' : scheme
}

function json(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}

async function write(): Promise<void> {
  await mkdir(new URL('generated', root), { recursive: true })
  for (const [path, content] of Object.entries(files)) await writeFile(new URL(path, root), content)
}

async function check(): Promise<void> {
  const contents = await Promise.all(
    Object.entries(files).map(async ([path, content]) => ({
      path,
      stale: (await readFile(new URL(path, root), 'utf8').catch(() => '')) !== content,
    })),
  )
  const stale = contents.filter((file) => file.stale).map((file) => file.path)
  if (stale.length === 0) return
  console.error(`Stale, run \`npm run generate\`: ${stale.join(', ')}`)
  process.exitCode = 1
}
