import type { Documents } from '../support/conformance.ts'

/** A change of one thing in a copy of the contract. */
export interface Mutant {
  name: string
  /** The path of the changed node, starting with the document's name. */
  at: string[]
  apply(documents: Documents): void
}

type Node = Record<string, unknown>

const methods = ['get', 'put', 'post', 'delete']

/** A mutant for each status, required field, required header and error text that a request or response can show. */
export function listMutants(documents: Documents): Mutant[] {
  const openapi = documents.openapi as { paths: Record<string, Node> }
  const operations = Object.entries(openapi.paths).flatMap(([path, item]) =>
    methods.filter((method) => item[method]).map((method) => ['openapi', 'paths', path, method]),
  )
  return [
    ...operations.flatMap((at) => [...otherStatuses(documents, at), ...otherSentences(documents, at)]),
    ...nodes(documents)
      .filter(isShown(documents))
      .flatMap(([at, node]) => [
        ...otherHeaders(at, node),
        ...otherFields(at, node),
        ...otherTexts(documents, at, node),
      ]),
  ]
}

/**
 * False for a schema that no request or response refers to. Such a schema describes JSON within a string, which is not checked.
 * test/operations/keyring-forms.test.ts makes each field of a keyring faulty.
 */
function isShown(documents: Documents) {
  const schemas = find(documents, ['openapi', 'components', 'schemas']) as Record<string, object>
  const shown = new Set<string>()
  const collect = (value: object) => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (shown.has(name)) continue
      shown.add(name)
      collect(schemas[name] ?? {})
    }
  }
  const { schemas: _, ...others } = find(documents, ['openapi', 'components'])
  collect([find(documents, ['openapi', 'paths']), others])
  return ([at]: [string[], Node]) =>
    at.slice(0, 3).join() !== 'openapi,components,schemas' || !at[3] || shown.has(at[3])
}

function otherStatuses(documents: Documents, at: string[]): Mutant[] {
  const { operationId, responses } = find(documents, at) as { operationId: string; responses: object }
  return Object.keys(responses).map((status) => ({
    name: `${operationId} ${status}`,
    at,
    apply: (copy) => rename(find(copy, [...at, 'responses']), status, '299'),
  }))
}

/** A mutant with another error text for a malformed body. */
function otherSentences(documents: Documents, at: string[]): Mutant[] {
  const { operationId, 'x-invalid': sentence } = find(documents, at)
  if (!sentence) return []
  return [
    {
      name: `${operationId} x-invalid ${sentence}`,
      at,
      apply(copy) {
        find(copy, at)['x-invalid'] = otherExample(copy, String(sentence))
      },
    },
  ]
}

/** Mutants without a required header of a response. */
function otherHeaders(at: string[], node: Node): Mutant[] {
  if (at.at(-3) !== 'responses' && at.at(-2) !== 'responses') return []
  return Object.keys((node.headers as object | undefined) ?? {}).map((header) => ({
    name: `${at.join(' ')} header ${header}`,
    at,
    apply: (copy) => rename(find(copy, [...at, 'headers']), header, `${header}-Other`),
  }))
}

function otherFields(at: string[], { required }: Node): Mutant[] {
  if (!Array.isArray(required) || at.includes('examples')) return []
  return required.map((field: string, index) => ({
    name: `${at.join(' ')} requires ${field}`,
    at,
    apply(copy) {
      find(copy, [...at, 'required'])[index] = `other_${field}`
    },
  }))
}

/** Mutants with another text for an error that a response lists, unless other examples allow any text. */
function otherTexts(documents: object, at: string[], { $ref }: Node): Mutant[] {
  const code = String($ref).split('/examples/')[1]
  if (at.at(-2) !== 'examples' || !code) return []
  const all = Object.values(find(documents, at.slice(0, -1))) as Node[]
  if (all.some((example) => !example.$ref)) return []
  return [
    {
      name: `${at.join(' ')} says ${code}`,
      at,
      apply(copy) {
        find(copy, at).$ref = `#/components/examples/${otherExample(copy, code)}`
      },
    },
  ]
}

/** Adds an error with another text, and returns its name. */
function otherExample(documents: object, code: string): string {
  const examples = find(documents, ['openapi', 'components', 'examples'])
  const { value } = examples[code] as { value: { error: string } }
  examples[`${code}Other`] = { 'x-status': 0, value: { error: `${value.error}!` } }
  return `${code}Other`
}

function nodes(value: object, at: string[] = []): [string[], Node][] {
  const inside = Object.entries(value).flatMap(([name, child]) =>
    typeof child === 'object' && child !== null ? nodes(child, [...at, name]) : [],
  )
  return [[at, value as Node], ...inside]
}

function find(documents: object, at: readonly string[]): Node {
  return at.reduce((node, name) => node[name] as Node, documents as Node)
}

/** Keeps the order of the names. */
function rename(node: Node, from: string, to: string): void {
  for (const [name, value] of Object.entries(node)) {
    delete node[name]
    node[name === from ? to : name] = value
  }
}
