/** From 1.0 on, a breaking change may be merged only with a major version; a stale generated file, never. */
import { rmSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { staleFiles } from '../../scripts/contract/generated.ts'
import { compareContracts } from '../../scripts/contract/review/compare.ts'
import type { Impact } from '../../scripts/contract/review/impact.ts'
import { isRefused } from '../../scripts/contract/review/review.ts'
import { contract } from './contract.ts'
import { repository } from './repository.ts'
import { reviewOf } from './review-of.ts'

t.test('A breaking change needs a major version in both contracts; any other change needs none', async (t) => {
  const rows: [Impact, before: string, openapi: string, asyncapi: string, wanted: string, 'accepted' | 'refused'][] = [
    ['major', '1.4.2', '1.4.2', '1.4.2', '2.0.0', 'refused'],
    ['major', '1.4.2', '1.5.0', '1.5.0', '2.0.0', 'refused'],
    ['major', '1.4.2', '2.0.0', '1.4.2', '2.0.0', 'refused'],
    ['major', '1.4.2', '2.0.0', '2.0.0', '2.0.0', 'accepted'],
    ['major', '1.4.2', 'latest', 'latest', '2.0.0', 'refused'],
    ['minor', '1.4.2', '1.4.2', '1.4.2', '1.5.0', 'accepted'],
    ['minor', '1.4.2', '1.5.0', '1.5.0', '1.5.0', 'accepted'],
    ['patch', '1.4.2', '1.4.2', '1.4.2', '1.4.3', 'accepted'],
    // Below 1.0, a minor version may have breaking changes.
    ['major', '0.3.1', '0.3.2', '0.3.2', '0.4.0', 'refused'],
    ['major', '0.3.1', '0.4.0', '0.4.0', '0.4.0', 'accepted'],
  ]
  const judged = rows.map(([verdict, before, openapi, asyncapi]) => {
    const review = reviewOf(verdict, before, openapi, asyncapi)
    const wanted = review.versions[0]?.wanted
    return [verdict, before, openapi, asyncapi, wanted, isRefused(review) ? 'refused' : 'accepted']
  })
  t.same(judged, rows)
})

t.test('A raised version alone is not a change', async (t) => {
  const repo = repository(t)
  for (const file of ['openapi.yaml', 'asyncapi.yaml']) repo.edit(file, ['version: 1.4.2', 'version: 1.5.0'])
  t.match(await compareContracts(contract, repo.root), { verdict: undefined, findings: [] })
})

t.test('A file in generated/ that does not match the contracts is stale', async (t) => {
  const repo = repository(t)
  t.same(await staleFiles(repo.root), [])

  repo.edit('openapi.yaml', ['The notes, newest first.', 'The notes, the newest first.'])
  t.same(await staleFiles(repo.root), ['generated/openapi.json', 'generated/openapi.ts', 'generated/client.ts'])

  await repo.generate()
  t.same(await staleFiles(repo.root), [])

  writeFileSync(new URL('generated/client.ts', repo.root), '// edited by hand\n')
  rmSync(new URL('generated/operations.ts', repo.root))
  t.same(await staleFiles(repo.root), ['generated/client.ts', 'generated/operations.ts'])
})
