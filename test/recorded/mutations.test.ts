/**
 * Whether a contract that departs from the service in one place would be noticed: each status, required field and error
 * text of openapi.yaml and asyncapi.yaml is changed by itself, and what the tests before have sent and received
 * (TEST_TRAFFIC, recorded by `npm test`) is to contradict the changed one.
 */
import t from 'tap'
import asyncapi from '../../generated/asyncapi.json' with { type: 'json' }
import openapi from '../../generated/openapi.json' with { type: 'json' }
import { openContract } from '../support/conformance.ts'
import { readTraffic, type Traffic } from '../support/traffic.ts'
import { listMutants, type Mutant } from './mutants.ts'

const documents = { openapi, asyncapi }
const traffic = readTraffic(process.env.TEST_TRAFFIC ?? '.tap/traffic')

t.test('The traffic of all tests keeps the contract', async (t) => {
  const check = openContract(documents)
  t.same(
    traffic.filter((one) => departs(check, one)),
    [],
    `${traffic.length} kinds of exchanges and messages`,
  )
  t.ok(traffic.length > 0, 'some was recorded')
})

t.test('The traffic of all tests notices each change of the contract', async (t) => {
  for (const mutant of listMutants(documents)) t.ok(isNoticed(mutant), mutant.name)
})

function isNoticed(mutant: Mutant): boolean {
  const changed = structuredClone(documents)
  mutant.apply(changed)
  const check = openContract(changed)
  return traffic.some((one) => departs(check, one))
}

function departs(check: (traffic: Traffic) => void, one: Traffic): boolean {
  try {
    check(one)
    return false
  } catch {
    return true
  }
}
