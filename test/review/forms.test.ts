/** Changes of JSON Schema and OpenAPI forms that our contract does not use get the right verdict, too. */
import { readFileSync } from 'node:fs'
import { parseYaml } from '@redocly/openapi-core'
import t from 'tap'
import type { Contract } from '../../scripts/contract/openapi.ts'
import { compareDocuments } from '../../scripts/contract/review/compare.ts'
import { highest } from '../../scripts/contract/review/impact.ts'

const text = readFileSync(new URL('changes/forms.txt', import.meta.url), 'utf8')

for (const part of text.split(/^=== /m).slice(1)) {
  const [head = '', ...lines] = part.split('\n')
  const [name = '', where = '', verdict] = head.split('|').map((one) => one.trim())
  const [before, after] = lines
    .join('\n')
    .split(/^---$/m)
    .map((one) => contractOf(where, one.trim()))
  if (!before || !after) throw new Error(`${name} has no two sides`)
  const findings = compareDocuments({ file: 'openapi.yaml', before, after })
  t.equal(highest(findings.map(({ impact }) => impact)) ?? 'none', verdict, name, { findings })
}

function contractOf(where: string, text: string): Contract {
  if (where === 'doc') return parseYaml(text) as Contract
  const schema = (place: string) => `content: { application/json: { schema: ${place} } }`
  const answer = '"200": { description: Done. }'
  const operations: Record<string, string> = {
    req: `post: { operationId: a, requestBody: { required: true, ${schema('*it')} }, responses: { ${answer} } }`,
    res: `get: { operationId: a, responses: { "200": { description: Done., ${schema('*it')} } } }`,
    par: `get: { operationId: a, parameters: *it, responses: { ${answer} } }`,
  }
  const head = `it: &it\n${text.replaceAll(/^/gm, '  ')}\nopenapi: 3.1.0\ninfo: { title: T, version: 1.0.0 }`
  const { it: _, ...contract } = parseYaml(`${head}\npaths: { /a: { ${operations[where]} } }`) as Contract & {
    it: unknown
  }
  return contract as Contract
}
