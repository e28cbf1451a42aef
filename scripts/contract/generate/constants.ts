/** The parts of openapi.yaml that are read here. */
interface Contract {
  paths?: object
  components?: { schemas?: object }
}

interface Operation {
  operationId?: string
  parameters?: { name?: string; $ref?: string }[]
}

const keywords = ['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'minimum', 'maximum']

/** The limits of each named schema and of its properties, as a TypeScript module; a constant each, so that a bundle takes only its own. */
export function limitList({ components }: Contract): string {
  const lines = Object.entries(components?.schemas ?? {}).flatMap(([name, schema]) => {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, object>)
    const limits = { ...limitsOf(schema), ...onlyFilled(properties.map(([key, value]) => [key, limitsOf(value)])) }
    return Object.keys(limits).length > 0 ? [`export const ${name} = ${JSON.stringify(limits)} as const`] : []
  })
  return `${lines.join('\n')}\n`
}

/** The path of each operation, as a TypeScript module; a constant each, so that a bundle takes only its own. */
export function pathList({ paths }: Contract): string {
  const operations = Object.entries(paths ?? {}).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({ ...operation, method, path })),
  )
  const named = operations.filter(({ operationId }) => operationId !== undefined)
  const lines = named.map(({ operationId, path }) => `export const ${operationId} = '${path}'`)
  const takers = named.filter(({ parameters = [] }) => parameters.some(isDeviceId))
  const keys = takers.map(({ method, path }) => `  '${method.toUpperCase()} ${path}',`)
  const comment = '/** The operations that take the X-Device-ID header. */'
  return `${lines.join('\n')}\n\n${comment}\nexport const takeDeviceId: readonly string[] = [\n${keys.join('\n')}\n]\n`
}

function limitsOf(schema: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => keywords.includes(keyword)))
}

function onlyFilled(entries: [string, object][]): Record<string, object> {
  return Object.fromEntries(entries.filter(([, value]) => Object.keys(value).length > 0))
}

function isDeviceId({ name, $ref }: { name?: string; $ref?: string }): boolean {
  return name === 'x-device-id' || $ref === '#/components/parameters/DeviceId'
}
