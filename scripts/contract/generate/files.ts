import { readFile } from 'node:fs/promises'
import openapiTS, { astToString, type OpenAPI3, type OpenAPITSOptions } from 'openapi-typescript'
import { limitList, pathList } from './constants.ts'
import { bundled, type Contract, messagesAsOpenApi } from './contract.ts'
import { operationList } from './operations.ts'

const banner = '// Written by `npm run generate`. Do not edit.\n'

/** What belongs into generated/ of the folder `root`: path and content. */
export async function generatedFiles(root: URL): Promise<Record<string, string>> {
  const openapi = await bundled(new URL('openapi.yaml', root))
  const asyncapi = await bundled(new URL('asyncapi.yaml', root))
  return {
    'generated/openapi.json': json(openapi),
    'generated/asyncapi.json': json(asyncapi),
    'generated/openapi.ts': await types(withDefaultsFilledIn(openapi)),
    'generated/client.ts': await types(openapi, { defaultNonNullable: false }),
    'generated/asyncapi.ts': await types(messagesAsOpenApi(asyncapi)),
    'generated/operations.ts': banner + operationList(openapi),
    'generated/limits.ts': banner + limitList(openapi),
    'generated/paths.ts': banner + pathList(openapi),
  }
}

/** The paths of those that are missing or differ. */
export async function staleFiles(root: URL): Promise<string[]> {
  const files = Object.entries(await generatedFiles(root))
  const current = await Promise.all(files.map(([path]) => readFile(new URL(path, root), 'utf8').catch(() => '')))
  return files.flatMap(([path, content], index) => (current[index] === content ? [] : [path]))
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

function json(document: object): string {
  return `${JSON.stringify(document, null, 2)}\n`
}
