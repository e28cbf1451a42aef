import openapiTS, { type OpenAPI3 } from 'openapi-typescript'
import ts from 'typescript'
import type { Contract } from '../openapi.ts'
import { withTexts } from '../texts.ts'

/** The types of generated/client.ts, flattened: the type at `responses.200.content.application/json.id`. */
export type Shape = Map<string, string>

export interface ClientTypes {
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
