import type { ClientTypes, Shape } from './client-types.ts'

/** A change of a name in the client's types, which apps refer to. */
export interface ClientChange {
  kind: 'operation' | 'type'
  name: string
  happened: 'new' | 'gone' | 'renamed' | 'changed'
  /** The old name, if it was renamed. */
  before?: string
  /** An operation's call, such as `GET /api/v1/health`. */
  call?: string
  /** The operations that use a type, directly or within another type. */
  carriers?: string[]
  details: string[]
}

export function compareClients(base: ClientTypes, revision: ClientTypes): ClientChange[] {
  const operations = compare(base.operations, revision.operations, renamedCalls(base, revision))
  const types = compare(base.types, revision.types, sameShapes(base.types, revision.types))
  return [
    ...operations.map((change) => {
      const calls = (change.happened === 'gone' ? base : revision).calls
      const call = [...calls].find(([, id]) => id === change.name)?.[0]
      return { kind: 'operation' as const, ...change, ...(call && { call }) }
    }),
    ...types.map((change) => {
      const carriers = carriersOf(change.name, change.happened === 'gone' ? base : revision)
      return { kind: 'type' as const, ...change, carriers }
    }),
  ]
}

type Comparison = Omit<ClientChange, 'kind' | 'call' | 'carriers'>

function compare(base: Map<string, Shape>, revision: Map<string, Shape>, renamed: Map<string, string>): Comparison[] {
  const names = new Set([...base.keys(), ...revision.keys()])
  const before = new Map([...renamed].map(([from, to]) => [to, from]))
  return [...names].flatMap((name): Comparison[] => {
    if (renamed.has(name)) return []
    const from = before.get(name)
    const [was, is] = [base.get(from ?? name), revision.get(name)]
    if (!is) return [{ name, happened: 'gone', details: [] }]
    if (!was) return [{ name, happened: 'new', details: [] }]
    const details = compareShapes(was, is)
    if (from) return [{ name, happened: 'renamed', before: from, details }]
    return details.length > 0 ? [{ name, happened: 'changed', details }] : []
  })
}

/** If a whole object is new or gone, only the object itself is listed. */
function compareShapes(base: Shape, revision: Shape): string[] {
  return [...new Set([...base.keys(), ...revision.keys()])].flatMap((path) => {
    const [was, is] = [base.get(path), revision.get(path)]
    if (was === is || parentsOf(path).some((parent) => base.has(parent) !== revision.has(parent))) return []
    const at = path ? `\`${path}\`` : 'it'
    if (was === undefined) return [is === 'object' ? `${at} is new` : `${at} is new: ${readable(is)}`]
    if (is === undefined) return [`${at} is gone`]
    return [`${at} changed from ${readable(was)} to ${readable(is)}`]
  })
}

function readable(type: string | undefined): string {
  return `\`${type?.replaceAll(/components\["schemas"\]\["(.+?)"\]/g, '$1')}\``
}

function parentsOf(path: string): string[] {
  const ends = [...path.matchAll(/\.|\[\]/g)].map((match) => match.index)
  return ends.map((end) => path.slice(0, end))
}

/** The same call under another operationId. */
function renamedCalls(base: ClientTypes, revision: ClientTypes): Map<string, string> {
  const pairs = [...base.calls].flatMap(([call, id]) => {
    const now = revision.calls.get(call)
    return now && now !== id && !revision.operations.has(id) && !base.operations.has(now) ? [[id, now] as const] : []
  })
  return new Map(pairs)
}

function sameShapes(base: Map<string, Shape>, revision: Map<string, Shape>): Map<string, string> {
  const added = [...revision].filter(([name]) => !base.has(name))
  const pairs = [...base].flatMap(([name, shape]) => {
    const twin = revision.has(name) ? undefined : added.find(([, other]) => textOf(other) === textOf(shape))
    return twin ? [[name, twin[0]] as const] : []
  })
  return new Map(pairs)
}

function carriersOf(type: string, { operations, types }: ClientTypes): string[] {
  const within = new Set([type])
  for (const name of within) for (const [other, shape] of types) if (mentions(shape, name)) within.add(other)
  return [...operations].filter(([, shape]) => [...within].some((name) => mentions(shape, name))).map(([id]) => id)
}

function mentions(shape: Shape, type: string): boolean {
  return textOf(shape).includes(`components["schemas"]["${type}"]`)
}

function textOf(shape: Shape): string {
  return JSON.stringify([...shape].sort()).replaceAll('\\"', '"')
}
