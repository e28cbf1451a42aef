/** A change as Redocly's `diff` passes it to a rule. It is experimental, so its version is pinned, and the review's tests run it. */
export interface Change {
  kind: 'added' | 'removed' | 'modified'
  node: Pair
  /** The property that differs in a `modified` change. `key` is the node's own name. */
  property?: string
  base?: { value: unknown }
  revision?: { value: unknown }
}

/** A node in both documents. One that was added or removed has only one side. */
export interface Pair {
  base?: Entry
  revision?: Entry
  parent: Pair | null
}

export interface Entry {
  key: string | number
  value: unknown
  type: { name: string }
  parent: Entry | null
  resolved?: Entry
}

export interface DiffContext {
  report(problem: { message: string }): void
  /** `request` is what clients send, `response` what they read. Empty if no operation uses it. */
  getDirections(): ('request' | 'response')[]
}

type Visit = (change: Change, context: DiffContext) => void

export type DiffRule = () => { [type: string]: Visit | Record<string, Visit> }

/** A readable name: an operation's id, a list item's name, and for a parameter's schema the parameter's name. */
export function nameOf(node: Pair): string {
  const entry = node.revision ?? node.base
  if (!entry) return ''
  if (node.parent && ['schema', 'items'].includes(String(entry.key))) return nameOf(node.parent)
  const own = typeof entry.key === 'number' ? (field(entry, 'name') ?? entry.resolved?.key) : undefined
  return String(field(entry, 'operationId') ?? own ?? entry.key)
}

export function typeOf({ base, revision }: Pair): string | undefined {
  return (revision ?? base)?.type.name
}

/** A field of the node's object, on one side. */
export function field(side: Entry | undefined, name: string): unknown {
  const value = side && (side.resolved ?? side).value
  return isObject(value) ? value[name] : undefined
}

export function ancestors(node: Pair): Pair[] {
  return node.parent ? [node.parent, ...ancestors(node.parent)] : []
}

/** The elements of the first list that are not in the second. */
export function missing(from: unknown, to: unknown): unknown[] {
  const kept = Array.isArray(to) ? to : []
  return Array.isArray(from) ? from.filter((value) => !kept.includes(value)) : []
}

export function quoted(values: unknown[]): string {
  return values.map((value) => `\`${value}\``).join(', ')
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
