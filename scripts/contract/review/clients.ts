import openapiTS, { type OpenAPI3 } from 'openapi-typescript'
import ts from 'typescript'
import type { Contract } from '../openapi.ts'
import { withTexts } from '../texts.ts'

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

/** The types of generated/client.ts, flattened: the type at `responses.200.content.application/json.id`. */
type Shape = Map<string, string>

interface ClientTypes {
  /** operationId by call, such as `GET /api/v1/health`. */
  calls: Map<string, string>
  operations: Map<string, Shape>
  types: Map<string, Shape>
}

export async function clientTypes(contract: Contract): Promise<ClientTypes> {
  const nodes = await openapiTS(withTexts(contract) as unknown as OpenAPI3, { defaultNonNullable: false })
  const declared = new Map(nodes.filter(ts.isInterfaceDeclaration).map(({ name, members }) => [name.text, members]))
  const components = new Map(membersOf(declared.get('components')).map(({ name, type }) => [name, childrenOf(type)]))
  const shapes = (members: Member[]) => new Map(members.map(({ name, type }) => [name, shapeOf(type, components)]))
  return {
    calls: callsOf(membersOf(declared.get('paths'))),
    operations: shapes(membersOf(declared.get('operations'))),
    types: shapes(components.get('schemas') ?? []),
  }
}

interface Member {
  name: string
  optional: boolean
  type: ts.TypeNode
}

type Components = Map<string, Member[]>

function callsOf(paths: Member[]): Map<string, string> {
  const calls = paths.flatMap(({ name: path, type }) =>
    childrenOf(type).flatMap(({ name: method, type: operation }) => {
      const [, id] = /^operations\["(.+)"\]$/.exec(print(operation)) ?? []
      return id ? [[`${method.toUpperCase()} ${path}`, id] as const] : []
    }),
  )
  return new Map(calls)
}

function shapeOf(type: ts.TypeNode, components: Components): Shape {
  const shape: Shape = new Map()
  const text = flatten(type, '')
  return shape.size > 0 ? shape : shape.set('', text)

  /** Schemas are types that clients refer to; other components only structure the contract. */
  function flatten(type: ts.TypeNode, path: string): string {
    if (ts.isArrayTypeNode(type)) return `${flatten(type.elementType, `${path}[]`)}[]`
    const [, kind = '', name = ''] = /^components\["(\w+)"\]\["(.+)"\]$/.exec(print(type)) ?? []
    const component = kind !== 'schemas' && components.get(kind)?.find((member) => member.name === name)
    if (component) return flatten(component.type, path)
    if (!ts.isTypeLiteralNode(type)) return print(type)
    for (const { name, optional, type: inner } of childrenOf(type).filter(({ type }) => print(type) !== 'never')) {
      const place = path ? `${path}.${name}` : name
      shape.set(place, '')
      shape.set(place, `${optional ? 'optional ' : ''}${flatten(inner, place)}`)
    }
    return 'object'
  }
}

function childrenOf(type: ts.TypeNode): Member[] {
  return ts.isTypeLiteralNode(type) ? membersOf(type.members) : []
}

function membersOf(members: ts.NodeArray<ts.TypeElement> | undefined): Member[] {
  return [...(members ?? [])].filter(ts.isPropertySignature).flatMap(({ name, questionToken, type }) => {
    if (!type || ts.isComputedPropertyName(name)) return []
    return [{ name: name.text, optional: questionToken !== undefined, type }]
  })
}

const printer = ts.createPrinter({ removeComments: true })
const nowhere = ts.createSourceFile('', '', ts.ScriptTarget.Latest)

function print(node: ts.Node): string {
  return printer.printNode(ts.EmitHint.Unspecified, node, nowhere).replaceAll(/\s+/g, ' ')
}
