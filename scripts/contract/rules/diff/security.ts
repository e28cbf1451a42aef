import {
  ancestors,
  type Change,
  type DiffContext,
  type DiffRule,
  field,
  isObject,
  nameOf,
  type Pair,
  typeOf,
} from './change.ts'

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
