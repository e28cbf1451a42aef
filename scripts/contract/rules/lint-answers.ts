import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import {
  type Contract,
  type Example,
  type Operation,
  type Referable,
  type RequestBody,
  recentSignIns,
  type Schema,
} from '../openapi.ts'
import { type Context, type Location, placed, typesOf } from './placed.ts'

/** An operation that always requires credentials must document 401 and 429. */
function securedAnswers() {
  let inherited: Operation['security']
  return {
    Root(root: { security?: Operation['security'] }) {
      inherited = root.security
    },
    Operation({ operationId, security = inherited, responses = {} }: Operation, { report, location }: Context) {
      if (!security?.length || security.some((requirement) => Object.keys(requirement).length === 0)) return
      for (const status of ['401', '429'].filter((status) => !(status in responses)))
        report({
          message: `${operationId} requires credentials but does not document ${status}.`,
          location: location.key(),
        })
    },
  }
}

/**
 * Each kind of session credentials must also be allowed together with the user's id (X-User-ID), and 403 must list the
 * error for another user's session. An operation with an X-User-ID parameter, such as openRealtime, may omit the first.
 */
function namedUser() {
  let inherited: Operation['security']
  return {
    Root(root: { security?: Operation['security'] }) {
      inherited = root.security
    },
    Operation({ security = inherited, ...operation }: Operation, { report, resolve, location }: Context) {
      const { operationId, responses = {}, parameters = [] } = operation
      const credentials = (security ?? []).map((requirement) => Object.keys(requirement).sort().join())
      const sessions = credentials.filter((schemes) => schemes !== '' && !schemes.includes('userId'))
      if (sessions.length === 0) return
      const declaresHeader = parameters.some((one) => 'name' in one && one.name === 'x-user-id')
      const missing = sessions.filter((schemes) => !credentials.includes([schemes, 'userId'].sort().join()))
      if (missing.length > 0 && !declaresHeader)
        report({
          message: `${operationId}: \`userId\` is missing beside ${missing.join(', ')}.`,
          location: location.key(),
        })
      const forbidden = responses['403'] && resolve(responses['403']).node
      if (!('ForbiddenUser' in (forbidden?.content?.['application/json']?.examples ?? {})))
        report({ message: `${operationId} does not list \`ForbiddenUser\` for 403.`, location: location.key() })
    },
  }
}

/**
 * Every operation that writes must say whether it requires a recent sign-in, and why, so that its author thinks about
 * whether it can be undone. The operation's 403 must list the error for an old sign-in exactly if one may be refused.
 */
function recentSignIn() {
  const reads = (method: string, { responses = {} }: Operation) =>
    ['get', 'head'].includes(method) && !('101' in responses)
  return {
    Operation(operation: Operation, { report, resolve, location, key }: Context & { key: string }) {
      const { operationId, responses = {}, 'x-recent-sign-in': signIn } = operation
      const required = signIn?.required
      const isComplete = recentSignIns.some((it) => it === required) && /\w/.test(signIn?.because ?? '')
      if (signIn ? !isComplete : !reads(key, operation)) {
        const message = `${operationId} writes: its \`x-recent-sign-in\` must say whether one is \`required\` (${recentSignIns.join(', ')}), and \`because\` of what.`
        report({ message, location: location.key() })
      }
      const forbidden = responses['403'] && resolve(responses['403']).node
      const isListed = 'SignInAgain' in (forbidden?.content?.['application/json']?.examples ?? {})
      if (isListed !== (required === 'sometimes' || required === 'always'))
        report({
          message: `${operationId}: \`x-recent-sign-in\` and the texts of 403 disagree.`,
          location: location.key(),
        })
    },
  }
}

/**
 * Every operation must say how many requests it counts as. A list in its body that may have more than 10 elements must
 * count, too: otherwise a long list would cost as much as a short one.
 */
function priced() {
  return {
    Operation(operation: Operation, { report, resolve, location }: Context) {
      const { operationId, requestBody, 'x-cost': cost } = operation
      const body = requestBody && resolve<RequestBody>(requestBody).node?.content['application/json']?.schema
      const { properties = {} } = (body && resolve<Schema>(body).node) ?? {}
      // A list of up to 10 elements costs nothing extra.
      const isLong = (schema: Schema) => 'items' in schema && (schema.maxItems ?? Number.POSITIVE_INFINITY) > 10
      const lists = Object.keys(properties).filter((name) => isLong(properties[name] ?? {}))
      const isCounted = (name: string) => lists.includes(name) || typesOf(properties[name] ?? {}).includes('integer')
      const isCount = (value: unknown, least: number) => Number.isInteger(value) && Number(value) >= least
      const isPriced =
        isCount(cost?.request, 0) &&
        (cost?.per === undefined || isCount(cost.every, 1)) &&
        (cost?.unless === undefined || (cost.unless in properties && isCount(cost.more, 1)))
      if (!isPriced || lists.some((name) => name !== cost?.per) || (cost?.per && !isCounted(cost.per)))
        report({
          message: `${operationId}: \`x-cost\` must have \`request\`, a number${lists.length > 0 ? `, \`per: ${lists}\` and \`every\`, a number` : ''}; the fields that it names must be in the body.`,
          location: location.key(),
        })
    },
  }
}

/** Errors must have `X-Error-Code` and the common schema: generated clients make one class of it. */
function errorAnswers({ except = [] }: { except?: string[] }) {
  return {
    Operation({ operationId, responses = {} }: Operation, context: Context) {
      for (const [status, response] of Object.entries(responses)) {
        if (!/^[45]/.test(status) || except.includes(`${operationId} ${status}`)) continue
        const { content = {}, headers = {} } = context.resolve(response).node ?? {}
        const isJson = Object.keys(content).join() === 'application/json'
        if (!isJson || !isError(content['application/json']?.schema) || !('X-Error-Code' in headers))
          context.report({
            message: `${operationId} does not return the Error schema and X-Error-Code with ${status}.`,
            location: context.location.child(['responses', status]).key(),
          })
      }
    },
  }
}

function isError(schema: Referable<Schema> | undefined): boolean {
  return schema !== undefined && '$ref' in schema && schema.$ref === '#/components/schemas/Error'
}

/**
 * Every error response must list its texts. They are examples in the contract's components, each with its status, and
 * each must be used, except those in `general`, which no operation lists. If the text varies with the request, the
 * response may have its own example.
 */
function errorTexts({ general = [] }: { general?: string[] }) {
  const used = new Set(general)
  const statuses = new Map<string, string>()

  function check(code: string, status: string, location: Location, { report }: Context): void {
    used.add(code)
    if (statuses.get(code) !== status) report({ message: `There is no error \`${code}\` with ${status}.`, location })
  }

  return {
    Operation(operation: Operation, context: Context) {
      const { operationId, responses = {}, 'x-invalid': invalid, 'x-not-found': notFound } = operation
      for (const [field, code, status] of [
        ['x-invalid', invalid, '400'],
        ['x-not-found', notFound, '404'],
      ] as const) {
        const response = responses[status] && context.resolve(responses[status]).node
        if (code && !(code in (response?.content?.['application/json']?.examples ?? {})))
          context.report({
            message: `${operationId} does not list \`${code}\` for ${status}.`,
            location: context.location.child([field]),
          })
      }
      for (const [status, response] of Object.entries(responses)) {
        const { node, location: shared } = context.resolve(response)
        const location = ('$ref' in response && shared) || context.location.child(['responses', status])
        const { schema, examples = {} } = node?.content?.['application/json'] ?? {}
        if (!isError(schema)) continue
        if (Object.keys(examples).length === 0)
          context.report({ message: `${operationId} lists no text for ${status}.`, location: location.key() })
        for (const [name, example] of Object.entries(examples)) {
          const at = location.child(['content', 'application/json', 'examples', name])
          if ('$ref' in example) check(example.$ref.replace('#/components/examples/', ''), status, at, context)
        }
      }
    },
    Root: {
      enter({ components }: Contract) {
        for (const [code, example] of Object.entries(components?.examples ?? {}))
          statuses.set(code, String((example as Example)['x-status']))
      },
      leave(_: object, { report, location }: Context) {
        for (const code of [...statuses.keys()].filter((code) => !used.has(code)))
          report({
            message: `No operation returns \`${code}\`.`,
            location: location.child(['components', 'examples', code]),
          })
      },
    },
  }
}

const addFormats = addFormatsModule as unknown as typeof addFormatsModule.default
const ajv = new Ajv2020({ strict: false })
addFormats(ajv)

/**
 * Every field must have an example, and the examples of a body's fields must form a valid body, because the
 * documentation builds bodies from them. Every request, success and AsyncAPI message must also have a whole example,
 * because Bruno, Postman and mocks read only those. Redocly checks that those of OpenAPI are valid.
 */
function examples() {
  const field = (name: string) => (node: Record<string, unknown>, context: Context) => {
    const schema = node[name] as Referable<Schema> | undefined
    if (!schema || ('format' in schema && schema.format === 'binary')) return
    const location = context.location.child([name])
    const { value, whole, missing } = sampleOf(schema, location, context)
    for (const place of missing) context.report({ message: 'There is no example.', location: place })
    if (missing.length > 0 || ajv.validate(whole, value)) return
    context.report({ message: `The examples of the fields are not valid together: ${ajv.errorsText()}.`, location })
  }
  return {
    Operation({ operationId, requestBody, responses = {} }: Operation, { report, resolve, location }: Context) {
      const successes = Object.entries(responses).filter(([status]) => status.startsWith('2'))
      const bodies = [
        [['requestBody'], requestBody && resolve<RequestBody>(requestBody).node] as const,
        ...successes.map(([status, response]) => [['responses', status], resolve(response).node] as const),
      ]
      for (const [at, body] of bodies) {
        const media = body?.content?.['application/json']
        if (media && Object.keys(media.examples ?? {}).length === 0)
          report({
            message: `${operationId} shows no whole example of a body.`,
            location: location.child([...at]).key(),
          })
      }
    },
    MediaType: field('schema'),
    Parameter: field('schema'),
    Header: field('schema'),
    Message(node: Record<string, unknown>, context: Context) {
      field('payload')(node, context)
      checkMessages(node, context)
    },
    WsChannelBinding(node: Record<string, unknown>, context: Context) {
      for (const name of ['query', 'headers']) field(name)(node, context)
    },
  }
}

/** Each message must have examples, which are valid as a whole. */
function checkMessages(node: Record<string, unknown>, context: Context): void {
  const { schema, location } = placed(node.payload as Referable<Schema>, context.location.child(['payload']), context)
  const whole = withoutRefs(schema, location, context) as object
  const shown = (node.examples ?? []) as { payload?: unknown }[]
  if (shown.length === 0) context.report({ message: 'There is no example.', location: context.location.key() })
  for (const [index, { payload }] of shown.entries()) {
    if (ajv.validate(whole, payload)) continue
    const at = context.location.child(['examples', index])
    context.report({ message: `The example is not valid: ${ajv.errorsText()}.`, location: at })
  }
}

interface Sample {
  value: unknown
  /** The schema with every `$ref` replaced by its target. */
  whole: object
  /** Fields that have no example. */
  missing: Location[]
}

/** A value made from the fields' examples. A value of `enum` or `const` also counts as an example. */
function sampleOf(schema: Referable<Schema>, at: Location, context: Context): Sample {
  const { schema: own, location } = placed(schema, at, context)
  const properties = Object.entries(own.properties ?? {}).map(
    ([name, inner]) => [name, sampleOf(inner, location.child(['properties', name]), context)] as const,
  )
  const items = 'items' in own && own.items && sampleOf(own.items, location.child(['items']), context)
  const whole = withoutRefs(own, location, context) as object
  const missing = [...properties.flatMap(([, sample]) => sample.missing), ...(items ? items.missing : [])]
  const [given] = [...(own.examples ?? []), ...(own.enum ?? []), ...(own.const === undefined ? [] : [own.const])]
  if (given !== undefined) return { value: given, whole, missing }
  const types = typesOf(own)
  if (types.includes('object'))
    return { value: Object.fromEntries(properties.map(([name, { value }]) => [name, value])), whole, missing }
  if (types.includes('array') && items) return { value: [items.value], whole, missing }
  return { value: undefined, whole, missing: [location] }
}

function withoutRefs(node: unknown, location: Location, context: Context): unknown {
  if (Array.isArray(node)) return node.map((inner) => withoutRefs(inner, location, context))
  if (typeof node !== 'object' || node === null) return node
  if ('$ref' in node) {
    const target = placed(node as Referable<Schema>, location, context)
    return withoutRefs(target.schema, target.location, context)
  }
  return Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, withoutRefs(inner, location, context)]))
}

/** Header names must be in lower case: HTTP ignores the case, but fastify-openapi-glue does not. */
function lowerCaseHeaders() {
  return {
    Parameter(parameter: { in?: string; name: string }, { report, location }: Context) {
      if (parameter.in === 'header' && isUpper(parameter.name))
        report({
          message: `The header \`${parameter.name}\` is not in lower case.`,
          location: location.child(['name']),
        })
    },
    WsChannelBinding(binding: { headers?: Referable<Schema> }, context: Context) {
      if (!binding.headers) return
      const { schema, location } = placed(binding.headers, context.location.child(['headers']), context)
      for (const name of Object.keys(schema.properties ?? {}).filter(isUpper)) {
        const at = location.child(['properties', name]).key()
        context.report({ message: `The header \`${name}\` is not in lower case.`, location: at })
      }
    },
  }
}

function isUpper(name: string): boolean {
  return name !== name.toLowerCase()
}

const component = /^#\/components\/[^/]+\/[^/]+$/

/** A component that is only a `$ref` is an alias, and with fastify-openapi-glue it accepts anything. */
function noBareRefComponent() {
  return {
    ref(_: object, { report, location }: Context) {
      if (component.test(location.pointer)) report({ message: 'A component must be more than a `$ref`.', location })
    },
  }
}

/** OpenAPI 3.1 allows keywords next to a `$ref`, but the service's validators ignore them: use allOf. */
function noRefSiblings() {
  return {
    ref(node: object, { report, location }: Context) {
      for (const name of Object.keys(node).filter((name) => name !== '$ref'))
        report({ message: `\`${name}\` is next to a \`$ref\`.`, location: location.child([name]).key() })
    },
  }
}

export const answerRules = {
  securedAnswers,
  namedUser,
  recentSignIn,
  priced,
  errorAnswers,
  errorTexts,
  examples,
  lowerCaseHeaders,
  noBareRefComponent,
  noRefSiblings,
}
