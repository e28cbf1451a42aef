import { fileURLToPath } from 'node:url'
import { bundle, createConfig } from '@redocly/openapi-core'

export interface Contract {
  info: { version: string }
  paths?: Record<string, Record<string, Operation | undefined>>
  components: { schemas: Record<string, unknown>; parameters?: Record<string, Parameter> }
}

export interface Operation {
  operationId?: string
  security?: Record<string, unknown>[]
  parameters?: Parameter[]
}

interface Parameter {
  required?: boolean
  schema?: { default?: unknown }
}

/** A contract in one document. Rules are lint's business, so redocly.yaml is not read. */
export async function bundled(file: URL): Promise<Contract> {
  const { bundle: result, problems } = await bundle({ ref: fileURLToPath(file), config: await createConfig({}) })
  const first = problems[0]
  if (first) throw new Error(`${file.pathname.split('/').at(-1)}: ${first.message}`)
  return result.parsed as Contract
}

/** openapi-typescript reads OpenAPI only, so the message schemas are lifted into a throw-away document. */
export function messagesAsOpenApi({ info, components }: Contract): object {
  return { openapi: '3.1.0', info, paths: {}, components: { schemas: components.schemas } }
}
