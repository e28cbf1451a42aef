import type { Contract } from '../openapi.ts'
import { type Fact, type Facts, factsOf, keyOf } from './facts.ts'
import { unratedIn } from './net.ts'
import { listOf } from './nodes.ts'
import { component } from './schema.ts'

/** One difference between two contracts. */
export interface Change {
  /** The fact before and after: a new one has no `was`, a removed one no `is`. If both differ in name, it was renamed. */
  was: Fact | undefined
  is: Fact | undefined
  /** `request` if clients send it, `response` if they read it. Empty if no operation uses it. */
  directions: Set<Direction>
  /** The affected operations. */
  operations: string[]
  before: Facts
  after: Facts
}

export type Direction = 'request' | 'response'

export interface Changes {
  changes: Change[]
  /** JSON pointers of differences that no change covers. */
  unrated: string[]
}

/** All differences of two contracts. The contents of something new or removed are not listed separately. */
export function changesOf(base: Contract, revision: Contract): Changes {
  const after = factsOf(revision)
  const plain = factsOf(base)
  const renamed = renamedPairs(plain, after, (steps) => steps.length === 2 && steps[0] === 'types')
  const types = new Map([...renamed].map(([was, is]) => [was.steps[1] ?? '', is.steps[1] ?? '']))
  const before = types.size > 0 ? factsOf(base, types) : plain
  const unrated = unratedIn([base, before], [revision, after])
  writeOut(before, after)
  writeOut(after, before)
  const twins = renamedPairs(
    before,
    after,
    (steps) => steps.length > 1 || (after.get(keyOf(steps)) ?? before.get(keyOf(steps)))?.of === 'calls',
  )
  const [used, uses] = [usesOf(before), usesOf(after)]
  const found = [...new Set([...before.keys(), ...after.keys()])].flatMap((key): Change[] => {
    const [was, is] = [before.get(key), after.get(key)]
    const { steps } = (is ?? was) as Fact
    if (JSON.stringify(was?.value) === JSON.stringify(is?.value) && Boolean(was) === Boolean(is)) return []
    if (steps.some((_, length) => isOneSided(keyOf(steps.slice(0, length))))) return []
    const twin = was && !is ? twins.get(was) : undefined
    if (is && !was && [...twins.values()].includes(is)) return []
    return [{ was, is: is ?? twin, ...reachOf(steps), before, after }]
  })
  const names = [...renamed].map(([was, is]) => ({ was, is, ...reachOf(is.steps), before, after }))
  return { changes: [...names, ...found], unrated }

  function isOneSided(key: string): boolean {
    return before.has(key) !== after.has(key)
  }

  function reachOf(steps: string[]): Pick<Change, 'directions' | 'operations'> {
    const [reached, reaches] = [used(steps), uses(steps)]
    const directions = new Set((reached.length > 0 ? reached : reaches).map(({ direction }) => direction))
    const operations = new Map([...reached, ...reaches].map(({ root, operation }) => [root, operation]))
    return { directions, operations: [...operations.values()] }
  }
}

/** Pairs removed facts with new ones of the same content, which count as renamed. `applies` selects them by steps. */
function renamedPairs(before: Facts, after: Facts, applies: (steps: string[]) => boolean): Map<Fact, Fact> {
  const alone = (from: Facts, to: Facts) =>
    [...from.values()].filter(
      ({ steps, value, of }) =>
        value === undefined &&
        of !== 'schema' &&
        applies(steps) &&
        !to.has(keyOf(steps)) &&
        (steps.length < 3 || to.has(keyOf(steps.slice(0, -1)))),
    )
  const fresh = alone(after, before)
  const pairs = alone(before, after).flatMap((was): [Fact, Fact][] => {
    const text = contentOf(before, was)
    const parent = keyOf(was.steps.slice(0, -1))
    const is = fresh.find((one) => keyOf(one.steps.slice(0, -1)) === parent && contentOf(after, one) === text)
    return is && text ? [[was, is]] : []
  })
  return new Map(pairs)
}

/** Fields that repeat the name of what they belong to, and so differ after a renaming. */
const named = ['path', 'operationId', 'name', 'url', 'workflowId', 'stepId', 'condition']

/** The facts inside a fact, as a text to compare. Empty if there are none. */
function contentOf(facts: Facts, { steps }: Fact): string {
  const all = within(facts, steps).filter((fact) => fact.value !== undefined)
  const content = all
    .map((fact) => [fact.steps.slice(steps.length), fact.value] as const)
    .filter(([path]) => !named.includes(String(path)))
  return all.length > 0 ? JSON.stringify(content.sort()) : ''
}

export function within(facts: Facts, steps: string[]): Fact[] {
  const start = `${keyOf(steps)}\n`
  return [...facts].flatMap(([key, fact]) => (key.startsWith(start) ? [fact] : []))
}

/** If the other contract has an object instead of a reference, inlines the reference, titled by its type's name. */
function writeOut(facts: Facts, other: Facts): void {
  for (const [key, fact] of facts) {
    const parent = keyOf(fact.steps.slice(0, -1))
    if (fact.steps.at(-1) !== '$ref' || other.has(key) || !other.has(parent)) continue
    if (!other.has(`${parent}\ntype`) && !other.has(`${parent}\nproperties`)) continue
    facts.delete(key)
    const steps = fact.steps.slice(0, -1)
    const name = String(fact.value)
    for (const one of within(facts, ['types', name])) {
      const moved = { ...one, steps: [...steps, ...one.steps.slice(2)] }
      if (!facts.has(keyOf(moved.steps))) facts.set(keyOf(moved.steps), moved)
    }
    facts.set(`${parent}\ntitle`, { ...fact, steps: [...steps, 'title'], value: name })
  }
}

interface Use {
  root: string
  /** The operation's name, which may change while `root` (such as `GET /notes`) stays. */
  operation: string
  direction: Direction
}

/** Returns a function that finds the operations that use a fact, and the direction. */
function usesOf(facts: Facts): (steps: string[]) => Use[] {
  const uses = new Map<string, Map<string, Use>>()
  const carried = new Map<string, Set<string>>()
  const references = [...facts.values()].filter(
    ({ steps, of }) => of === 'schema' && ['$ref', component].includes(steps.at(-1) ?? ''),
  )
  for (const { steps, value } of references) {
    const [root, name = ''] = steps
    if (root === 'types') carried.set(name, (carried.get(name) ?? new Set()).add(String(value)))
  }
  for (const { steps, value } of references)
    if (steps[0] !== 'types') for (const use of ofOperation(steps)) add(String(value), use)
  return (steps) => (steps[0] === 'types' ? [...(uses.get(steps[1] ?? '') ?? new Map()).values()] : ofOperation(steps))

  function add(type: string, use: Use): void {
    const known = uses.get(type) ?? new Map()
    uses.set(type, known)
    const key = `${use.direction} ${use.root}`
    if (known.has(key)) return
    known.set(key, use)
    for (const inner of carried.get(type) ?? []) add(inner, use)
  }

  function ofOperation([root = '', part = '']: string[]): Use[] {
    if (root === 'workflows') return [{ root: part, operation: part, direction: 'request' }]
    const operation = nameOf(root)
    if (operation === undefined) return part === 'bindings' ? [{ root, operation: root, direction: 'request' }] : []
    const sends = facts.get(keyOf([root, 'action']))?.value
    const isAnswer = part === 'responses' || (part === 'messages' && sends === 'send')
    return [{ root, operation, direction: isAnswer ? 'response' : 'request' }]
  }

  function nameOf(root: string): string | undefined {
    const id = facts.get(keyOf([root, 'operationId']))?.value
    if (id !== undefined) return String(id)
    return facts.has(keyOf([root, 'action'])) || facts.has(keyOf([root, 'path'])) ? root : undefined
  }
}

/** The elements of the first list that are not in the second. */
export function missing(from: unknown, to: unknown): unknown[] {
  const kept = listOf(to).map((one) => JSON.stringify(one))
  return listOf(from).filter((one) => !kept.includes(JSON.stringify(one)))
}
