import {
  type Contract,
  type Located,
  type Operation,
  operationsOf,
  type Referable,
  type Response,
  resolve,
  type Schema,
} from './openapi.ts'
import { listedErrors, loginFailuresOf } from './texts.ts'

/** A module with each operation's method, path, security and cost, and whether it requires a recent sign-in. */
export function operationList(contract: Contract): string {
  const lines = operationsOf(contract).map(
    ({ operationId, method, path, security, 'x-recent-sign-in': signIn, 'x-cost': cost }) =>
      `  ${operationId}: { method: '${method.toUpperCase()}', path: '${path}', security: '${securityOf(security)}', recentSignIn: '${signIn?.required ?? 'never'}', cost: ${JSON.stringify(cost)} },`,
  )
  return `export const operations = {\n${lines.join('\n')}\n} as const\n\nexport type OperationId = keyof typeof operations\n`
}

/**
 * The credentials that the service checks before the operation. Without `security`, it is the contract's default: the
 * session cookie. `none` also stands for operations that check either cookie themselves, such as signing out.
 */
function securityOf(security: Operation['security']): string {
  if (security === undefined) return 'sessionCookie'
  // The bearer token is the same session in another header, and the user's id is not a credential.
  const schemes = security.flatMap(Object.keys).filter((name) => name !== 'sessionToken' && name !== 'userId')
  const [scheme, other] = new Set(schemes)
  if (scheme === undefined) return 'none'
  const optional = security.some((requirement) => Object.keys(requirement).length === 0)
  return optional ? (other ? 'none' : 'optional') : scheme
}

const limits = ['minLength', 'maxLength', 'pattern', 'minItems', 'maxItems', 'minimum', 'maximum']

/** The limits of each named schema and its properties: a constant each, so that a bundle contains only what it uses. */
export function limitList(contract: Contract): string {
  const quotas = JSON.stringify(contract['x-limits'] ?? {})
  return `${limitsOfSchemas(contract, (name) => !isOfKeyring(name))}\n/** The limits of a user (\`x-limits\` of the contract). */\nexport const quotas = ${quotas} as const\n`
}

/** The limits of a keyring, in a separate file: a page loads them only when it opens a vault. */
export function keyringLimitList(contract: Contract): string {
  return limitsOfSchemas(contract, isOfKeyring)
}

const isOfKeyring = (name: string) => /^Keyring|Wrap$/.test(name)

function limitsOfSchemas({ components }: Contract, isWanted: (name: string) => boolean): string {
  const lines = Object.entries(components?.schemas ?? {}).flatMap(([name, schema]) => {
    const properties = Object.entries(schema.properties ?? {}).map(([key, value]) => [key, limitsOf(value)] as const)
    const limited = properties.filter(([, value]) => Object.keys(value).length > 0)
    const constant = { ...limitsOf(schema), ...Object.fromEntries(limited) }
    const isListed = isWanted(name) && Object.keys(constant).length > 0
    return isListed ? [`export const ${name} = ${JSON.stringify(constant)} as const`] : []
  })
  return `${lines.join('\n')}\n`
}

/** The required properties of each named schema: a constant each, so that a bundle contains only what it uses. */
export function requiredList({ components }: Contract): string {
  const lines = Object.entries(components?.schemas ?? {}).flatMap(([name, { required = [] }]) =>
    required.length > 0 ? `export const ${name} = ${JSON.stringify(required)} as const\n` : [],
  )
  return lines.join('')
}

/** The types of a schema's fields. The client, which has no validator, uses them in src/client/bookmark/form.ts. */
export function formOf({ components }: Contract, name: string): string {
  const form = formOfSchema(components?.schemas?.[name] ?? {})
  return `export const form = ${JSON.stringify(form)} as const\n`
}

function formOfSchema(schema: Referable<Schema>): unknown {
  const { type, enum: values, properties = {}, additionalProperties: others } = schema as Schema
  if (values) return values.map((value) => `=${value}`).join(' ')
  if ('items' in schema) return [formOfSchema(schema.items)]
  if (type !== 'object') return [type].flat().join(' ')
  const fields = Object.entries(properties).map(([name, property]) => [name, formOfSchema(property)])
  return Object.fromEntries(typeof others === 'object' ? [...fields, ['*', formOfSchema(others)]] : fields)
}

function limitsOf(schema: Referable<Schema>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => limits.includes(keyword)))
}

/** Status and text of each error: a constant each, so that a bundle contains only what it uses. */
export function errorList(contract: Contract): string {
  return listedErrors(contract)
    .map(({ code, status, text }) => `export const ${code} = [${status}, ${JSON.stringify(text)}] as const\n`)
    .join('')
}

/** Types of fields, the most telling first: the response of another server, such as a proxy, rarely has a list. */
const telling = ['array', 'object', 'string', 'boolean']

/**
 * For each operation with a JSON response, a field with its type or its only allowed value, by which a client without a
 * validator recognizes the response.
 */
export function answerList(contract: Contract): string {
  const fields = operationsOf(contract).flatMap(({ method, path, responses = {} }) => {
    const [success] = Object.entries(responses).flatMap(([status, response]) =>
      status.startsWith('2') ? response : [],
    )
    const { schema = {} } = (success && resolve<Response>(contract, success).content?.['application/json']) ?? {}
    const { required = [], properties = {} } = resolve<Schema>(contract, schema)
    const typed = required.map((name) => {
      const { type, const: only } = resolve<Schema>(contract, properties[name] ?? {})
      return [name, String(only ?? type), only !== undefined] as const
    })
    const only = typed.filter(([, , isOnly]) => isOnly)
    const [field] = [...only, ...telling.flatMap((type) => typed.filter(([, one]) => one === type))]
    return field ? [`${method.toUpperCase()}${path} ${field[0]} ${field[1]}`] : []
  })
  const lines = ['', ...fields].map((line) => `  ${JSON.stringify(`${line}\n`)}`)
  return `/** One line per operation, in a string, which is smaller than a list. */\nexport const answerFields =\n${lines.join(' +\n')}\n`
}

/** The messages of a failed sign-in, by name. */
export function loginFailureList(contract: Contract): string {
  return `export const loginFailures = ${JSON.stringify(loginFailuresOf(contract))} as const\n`
}

interface Channel {
  'x-close-codes'?: Record<string, { code: number }>
  'x-max-message-bytes'?: number
  'x-ping-seconds'?: number
  'x-silence-seconds'?: number
}

/** The limits of the realtime channel, and the codes with which the service closes it. */
export function channelList({ channels }: { channels: Record<string, Channel> }): string {
  const [channel = {}] = Object.values(channels)
  const codes = Object.entries(channel['x-close-codes'] ?? {}).map(([name, { code }]) => `${name}: ${code}`)
  return [
    `export const closeCodes = { ${codes.join(', ')} } as const`,
    `export const maxMessageBytes = ${channel['x-max-message-bytes']}`,
    `export const pingSeconds = ${channel['x-ping-seconds']}`,
    `export const silenceSeconds = ${channel['x-silence-seconds']}`,
    '',
  ].join('\n')
}

/** The path of each operation: a constant each, so that a bundle contains only what it uses. */
export function pathList(contract: Contract): string {
  const operations = operationsOf(contract)
  const paths = operations.map(({ operationId, path }) => `export const ${operationId} = '${path}'`)
  const takers = operations.filter((operation) => takesDeviceId(operation) && !isUpgrade(operation))
  const keys = takers.map(({ method, path }) => `  '${method.toUpperCase()}${path}'`)
  const comment =
    '/** The operations over HTTP that take the X-Device-ID header: one string, which is smaller than a list. */'
  return `${paths.join('\n')}\n\n${comment}\nexport const takeDeviceId =\n${keys.join(' +\n')}\n`
}

function isUpgrade({ responses = {} }: Located): boolean {
  return '101' in responses
}

function takesDeviceId({ parameters = [] }: Located): boolean {
  return parameters.some((parameter) =>
    '$ref' in parameter ? parameter.$ref === '#/components/parameters/DeviceId' : parameter.name === 'x-device-id',
  )
}
