/**
 * A contract that departs from the service in one place is noticed: each status, required field and error
 * text of openapi.yaml and asyncapi.yaml is changed by itself, and what the tests before have sent and received
 * (TEST_TRAFFIC, recorded by `npm test`) is to contradict the changed one.
 */
import { AssertionError } from 'node:assert/strict'
import t from 'tap'
import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { openContract } from '../support/conformance.ts'
import { isDeep } from '../support/depth.ts'
import { pick } from '../support/pick.ts'
import { readTraffic, type Traffic } from '../support/traffic.ts'
import { findConcerned } from './concerned.ts'
import { listMutants, type Mutant } from './mutants.ts'

const documents = { openapi, asyncapi }
/** Where a mutant may add an error, beside what it changes. */
const examples = ['openapi', 'components', 'examples']
const traffic = readTraffic(process.env.TEST_TRAFFIC ?? '.tap/traffic')
const check = openContract(documents)
const faults = new Map(traffic.map((one) => [one, departure(check, one)]))
const kept = traffic.filter((one) => faults.get(one) === undefined)

t.test('The traffic of all tests keeps the contract', async (t) => {
  t.same([...faults.values()].filter(Boolean), [], `${traffic.length} kinds of exchanges and messages`)
  t.ok(kept.length > 0, 'some was recorded')
})

t.test('The traffic of all tests notices each change of the contract', async (t) => {
  const concerned = findConcerned(documents, kept)
  const mutants = listMutants(documents).filter((_, at) => isDeep || at % 3 === 0)
  const unnoticed = mutants.filter((mutant) => !isNoticed(mutant, [...concerned(mutant), ...kept]))
  t.same(pick(unnoticed, 'name'), [], `${mutants.length} changes`)
})

function isNoticed(mutant: Mutant, traffic: Traffic[]): boolean {
  const changed = [mutant.at, examples].reduce(copiedAt, documents)
  mutant.apply(changed)
  const check = openContract(changed)
  return traffic.some((one) => departure(check, one) !== undefined)
}

/** With a copy of the node at that path, which can be changed. Everything beside the path is shared. */
function copiedAt<T extends object>(node: T, [step, ...steps]: string[]): T {
  if (step === undefined) return structuredClone(node)
  const copy = (Array.isArray(node) ? [...node] : { ...node }) as Record<string, object>
  copy[step] = copiedAt(copy[step] as object, steps)
  return copy as T
}

function departure(check: (traffic: Traffic) => void, one: Traffic): string | undefined {
  try {
    check(one)
    return undefined
  } catch (error) {
    if (!(error instanceof AssertionError)) throw error
    return error.message
  }
}
