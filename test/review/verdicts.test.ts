/** Each case gets the verdict that semver requires, and a message that names the change. */
import { parseYaml } from '@redocly/openapi-core'
import t from 'tap'
import type { Contract } from '../../scripts/contract/openapi.ts'
import { compareDocuments } from '../../scripts/contract/review/compare.ts'
import { highest } from '../../scripts/contract/review/impact.ts'
import { casesIn } from './cases.ts'
import { edited, original } from './contract.ts'

const types = parseYaml(original('openapi.yaml')) as Contract

const cases = {
  'openapi.yaml': casesIn('openapi.diff'),
  'asyncapi.yaml': casesIn('asyncapi.diff'),
  '../workflows.arazzo.yaml': casesIn('workflows.diff'),
}

for (const [file, all] of Object.entries(cases))
  t.test(`${all.length} changes of ${file}`, async (t) => {
    for (const { name, given, edits, verdict, says, findings, reaches } of all) {
      const [before, after] = [read(edited(file, given)), read(edited(file, [...given, ...edits]))]
      const found = compareDocuments({ file, before, after })
      const impact = highest(found.map((finding) => finding.impact)) ?? 'none'
      const said = found.filter((one) => one.impact === impact && says.test(one.message))
      const actual = {
        impact,
        isSaid: impact === 'none' || said.length > 0,
        findings: findings === undefined ? undefined : found.length,
        reaches: reaches && said[0]?.operations.length,
      }
      const told = found.map(({ impact, place, message }) => `${impact}: ${place}: ${message}`)
      t.same(actual, { impact: verdict, isSaid: true, findings, reaches }, name, { told })
    }
  })

/** Parses a contract. The types that asyncapi.yaml takes from openapi.yaml are inlined, as in the bundle. */
function read(text: string): Contract {
  const document = parseYaml(text.replaceAll('openapi.yaml#', '#')) as Contract
  if ('asyncapi' in document && document.components) document.components.schemas = types.components?.schemas ?? {}
  return document
}
