import {
  ancestors,
  type Change,
  type DiffContext,
  type DiffRule,
  type Entry,
  field,
  isObject,
  nameOf,
  type Pair,
  typeOf,
} from './diff-change.ts'

/** Existing clients keep sending the property, and the service would ignore it. */
export const requestPropertyRemoved: DiffRule = () => ({
  SchemaProperties: {
    Schema({ kind, property, node, base, revision }, { report, getDirections }) {
      if (!getDirections().includes('request')) return
      if (kind === 'removed') report({ message: `\`${nameOf(node)}\` is no longer read.` })
      if (property === 'key') report({ message: `\`${base?.value}\` is now \`${revision?.value}\`.` })
    },
  },
  Schema: {
    SchemaProperties({ kind, node }, { report, getDirections }) {
      if (kind === 'removed' && getDirections().includes('request'))
        report({ message: `The fields of \`${nameOf(node.parent ?? node)}\` are no longer read.` })
    },
  },
})

export const requestBodyDemanded: DiffRule = () => ({
  RequestBody({ kind, node }, { report }) {
    if (kind === 'added' && field(node.revision, 'required') === true) report({ message: 'The body is now required.' })
  },
})

/** A client that omits the field gets a different result than before. */
export const defaultChanged: DiffRule = () => ({
  Schema({ property, node, base, revision }, { report, getDirections }) {
    if (property !== 'default' || base?.value === undefined || !getDirections().includes('request')) return
    report({ message: `The default of \`${nameOf(node)}\` changed from \`${base.value}\` to \`${revision?.value}\`.` })
  },
})

/** A limit that still has room for every body that was valid only refuses what the operation did not read. */
export const bodyLimitLowered: DiffRule = () => ({
  Operation({ node, property, base, revision }, { report }) {
    if (property !== 'x-body-limit') return
    const [before, after] = [base, revision].map((side) => Number(side?.value ?? commonBodyLimit))
    if (Number(after) < Number(before) && Number(after) < largestBody(node.base))
      report({ message: `The limit of the body fell from ${before} to ${after} bytes.` })
  },
})

const commonBodyLimit = 1024 * 1024

/** Clients only know the operation's previous success statuses. Unknown errors they must handle anyway. */
export const successAdded: DiffRule = () => ({
  Responses: {
    Response({ kind, node }, { report }) {
      if (kind === 'added' && /^[23]/.test(nameOf(node)))
        report({ message: `The operation may now respond with ${nameOf(node)}.` })
    },
  },
})

export const headerUnpromised: DiffRule = () => ({
  Header({ property, node, base, revision }, { report, getDirections }) {
    if (property === 'required' && base?.value === true && revision?.value !== true)
      if (getDirections().includes('response')) report({ message: `\`${nameOf(node)}\` may be missing.` })
  },
})

/** UTF-8 needs this for any character of the world's languages, if the client does not escape it. */
const bytesPerCharacter = 3
/** Of a number, true, false or null. */
const bytesOfScalar = 25

/** How long the longest valid body of an operation is, without unknown fields (bytes); Infinity if nothing limits it. */
function largestBody(operation: Entry | undefined): number {
  const root = documentOf(operation)
  const read = (value: unknown) => (isObject(value) && typeof value.$ref === 'string' ? at(root, value.$ref) : value)
  const path = ['requestBody', 'content', 'application/json', 'schema']
  const schema = path.reduce((value, name) => {
    const object = read(value)
    return isObject(object) ? object[name] : undefined
  }, operation?.value)
  return schema === undefined ? 0 : largest(schema)

  function largest(value: unknown): number {
    const schema = read(value)
    if (!isObject(schema)) return Number.POSITIVE_INFINITY
    if (Array.isArray(schema.enum)) return Math.max(...schema.enum.map((one) => JSON.stringify(one).length))
    if (schema.type === 'string') return 2 + bytesPerCharacter * Number(schema.maxLength ?? Number.POSITIVE_INFINITY)
    if (schema.type === 'array') {
      return 2 + Number(schema.maxItems ?? Number.POSITIVE_INFINITY) * (largest(schema.items) + 1)
    }
    if (schema.type !== 'object')
      return ['integer', 'number', 'boolean'].includes(String(schema.type)) ? bytesOfScalar : Number.POSITIVE_INFINITY
    const fields = Object.entries(isObject(schema.properties) ? schema.properties : {})
    return 2 + fields.reduce((sum, [name, one]) => sum + name.length + 4 + largest(one), 0)
  }
}

function documentOf(entry: Entry | undefined): unknown {
  let top = entry
  while (top?.parent) top = top.parent
  return top?.value
}

/** The target of a local reference such as `#/components/schemas/Login`. */
function at(root: unknown, reference: string): unknown {
  const names = reference.split('/').slice(1)
  return names.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), root)
}

type Side = 'base' | 'revision'

/**
 * Credentials that were sufficient before are now refused. Redocly's `security-requirement-changed` only compares the
 * lists; this rule knows that an operation without a list inherits the document's.
 */
export const securityTightened: DiffRule = () => ({
  SecurityRequirementList: judge,
  SecurityRequirement: judge,
})

function judge({ node }: Change, { report }: DiffContext): void {
  const owner = ancestors(node).find((ancestor) => ['Operation', 'Root'].includes(typeOf(ancestor) ?? ''))
  if (!owner) return
  const after = alternatives(owner, 'revision')
  const refused = alternatives(owner, 'base').filter((before) => !after.some((wanted) => satisfies(before, wanted)))
  if (refused.length > 0) report({ message: `No longer sufficient: ${refused.map(named).join('; ')}.` })
}

/** The alternative requirements, each of which is sufficient. An empty list requires nothing. */
function alternatives(owner: Pair, side: Side): Record<string, unknown>[] {
  const root = ancestors(owner).at(-1) ?? owner
  const list = field(owner[side], 'security') ?? field(root[side], 'security')
  const requirements = Array.isArray(list) ? list.filter(isObject) : []
  return requirements.length > 0 ? requirements : [{}]
}

function satisfies(given: Record<string, unknown>, wanted: Record<string, unknown>): boolean {
  return Object.keys(wanted).every((scheme) => scheme in given)
}

function named(requirement: Record<string, unknown>): string {
  return Object.keys(requirement).join(' and ') || 'no credentials'
}

/** Who may connect to the AsyncAPI channel, and how. Redocly's rules do not cover this. */
export const connectionTightened: DiffRule = () => ({
  SecuritySchemeList({ kind, node }, { report }) {
    if (kind === 'added') report({ message: `\`${nameOf(node.parent ?? node)}\` now requires credentials.` })
  },
  SecurityScheme({ kind, property, node, base, revision }, { report }) {
    if (kind === 'removed' && othersAreLeft(node.parent))
      report({ message: `\`${nameOf(node)}\` is no longer accepted.` })
    if (kind === 'modified' && ['type', 'in', 'name', 'scheme'].includes(property ?? ''))
      report({
        message: `\`${property}\` of \`${nameOf(node)}\` changed from \`${base?.value}\` to \`${revision?.value}\`.`,
      })
  },
  Operation({ property, node, base, revision }, { report }) {
    if (property === 'x-channel')
      report({
        message: `The channel of \`${nameOf(node)}\` changed from \`${base?.value}\` to \`${revision?.value}\`.`,
      })
  },
  WsChannelBinding({ property, base, revision }, { report }) {
    if (property === 'method')
      report({ message: `The method of the upgrade changed from \`${base?.value}\` to \`${revision?.value}\`.` })
  },
})

/** If no scheme is left, nobody is refused. */
function othersAreLeft(list: Pair | null): boolean {
  return list !== null && typeOf(list) === 'SecuritySchemeList' && list.revision !== undefined
}
