import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { bundle, createConfig } from '@redocly/openapi-core'
import openapiTS, { astToString, type OpenAPI3, type OpenAPITSOptions } from 'openapi-typescript'
import {
  answerList,
  channelList,
  errorList,
  formOf,
  keyringLimitList,
  limitList,
  loginFailureList,
  operationList,
  pathList,
  requiredList,
} from './constants.ts'
import { type Contract, operationsOf } from './openapi.ts'
import { routeList } from './routes.ts'
import { withTexts } from './texts.ts'

const banner = '// Written by `npm run generate`. Do not edit.\n'

/** The contents of the files in generated/, by their paths below `root`. */
export async function generatedFiles(root: URL): Promise<Record<string, string>> {
  const openapi = await bundled(new URL('openapi.yaml', root))
  const asyncapi = await bundled(new URL('asyncapi.yaml', root))
  return {
    'generated/openapi.json': json(openapi),
    'generated/asyncapi.json': json(asyncapi),
    'generated/openapi.ts': await types(withDefaultsFilledIn(withTexts(openapi))),
    'generated/client.ts': await types(withTexts(openapi), { defaultNonNullable: false }),
    'generated/asyncapi.ts': await types(messagesAsOpenApi(asyncapi)),
    'generated/channel.ts': banner + channelList(asyncapi as unknown as Parameters<typeof channelList>[0]),
    'generated/operations.ts': banner + operationList(openapi),
    'generated/errors.ts': banner + errorList(openapi),
    'generated/answers.ts': banner + answerList(openapi),
    'generated/login-failures.ts': banner + loginFailureList(openapi),
    'generated/routes.json': await routeList(openapi),
    'generated/limits.ts': banner + limitList(openapi),
    'generated/keyring-limits.ts': banner + keyringLimitList(openapi),
    'generated/bookmark-form.ts': banner + formOf(openapi, 'PlaintextBookmark'),
    'generated/required.ts': banner + requiredList(openapi),
    'generated/paths.ts': banner + pathList(openapi),
  }
}

/** The paths of generated files that are missing or outdated. */
export async function staleFiles(root: URL): Promise<string[]> {
  const files = Object.entries(await generatedFiles(root))
  const current = await Promise.all(files.map(([path]) => readFile(new URL(path, root), 'utf8').catch(() => '')))
  return files.flatMap(([path, content], index) => (current[index] === content ? [] : [path]))
}

/** Reads a contract into one document. Rules are checked by `redocly lint`, so redocly.yaml is not read. */
export async function bundled(file: URL): Promise<Contract> {
  const { bundle: result, problems } = await bundle({ ref: fileURLToPath(file), config: await createConfig({}) })
  const first = problems[0]
  if (first) throw new Error(`${file.pathname.split('/').at(-1)}: ${first.message}`)
  return result.parsed as Contract
}

async function types(document: object, options: OpenAPITSOptions = {}): Promise<string> {
  return banner + astToString(await openapiTS(document as OpenAPI3, options))
}

/** Makes parameters with a default required, as a handler sees them. openapi-typescript does this only in bodies. */
function withDefaultsFilledIn(contract: Contract): Contract {
  const copy = structuredClone(contract)
  const parameters = operationsOf(copy).flatMap(({ parameters = [] }) => parameters)
  for (const parameter of [...parameters, ...Object.values(copy.components?.parameters ?? {})]) {
    if ('schema' in parameter && parameter.schema && 'default' in parameter.schema) parameter.required = true
  }
  return copy
}

/** openapi-typescript only reads OpenAPI, so the message schemas are put into a temporary document. */
function messagesAsOpenApi({ info, components }: Contract): object {
  return { openapi: '3.1.0', info, paths: {}, components: { schemas: components?.schemas } }
}

function json(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
