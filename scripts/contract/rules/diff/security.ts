import { ancestors, type Change, type Context, type DiffRule, field, isObject, type Pair, typeOf } from './change.ts'

type Side = 'base' | 'revision'

/**
 * A client with the credentials of before is refused. Redocly's `security-requirement-changed` looks at the list alone;
 * this knows that an operation without one has the document's.
 */
export const securityTightened: DiffRule = () => ({
  SecurityRequirementList: judge,
  SecurityRequirement: judge,
})

function judge({ node }: Change, { report }: Context): void {
  const owner = ancestors(node).find((ancestor) => ['Operation', 'Root'].includes(typeOf(ancestor) ?? ''))
  if (!owner) return
  const after = alternatives(owner, 'revision')
  const refused = alternatives(owner, 'base').filter((before) => !after.some((wanted) => satisfies(before, wanted)))
  if (refused.length > 0) report({ message: `Not enough any longer: ${refused.map(named).join('; ')}.` })
}

/** Any one of them lets a request in. An empty list lets everyone in. */
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
