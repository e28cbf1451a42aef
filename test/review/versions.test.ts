/** What may land: a breaking change with a major version, and no generated file that is out of date. */
import { rmSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { runReview } from './command.ts'
import { type Edit, type Repository, repository } from './repository.ts'

const breaking: Edit = ['operationId: getStatus', 'operationId: readStatus']
const addition: Edit = [
  '        author:',
  '        length: { type: integer, description: Its length. }\n        author:',
]
const wording: Edit = ['The notes, newest first.', 'The notes, the newest first.']

t.test('a breaking change needs a major version in both contracts', async (t) => {
  const repo = await repository(t)
  const results = await each(t, repo, breaking, [
    ['1.4.2', '1.4.2', 1],
    ['1.5.0', '1.5.0', 1],
    ['2.0.0', '1.4.2', 1],
    ['2.0.0', '2.0.0', 0],
    ['latest', 'latest', 1],
  ])
  t.match(results[0], 'Verdict: major')
  t.match(results[0], '`info.version` of openapi.yaml stayed 1.4.2; these changes ask for 2.0.0')
  t.match(results[1], '`info.version` of asyncapi.yaml went from 1.4.2 to 1.5.0; these changes ask for 2.0.0')
  t.match(results[3], '`info.version` is raised enough: 1.4.2 → 2.0.0')
})

t.test('an addition and a wording are told the version that they ask for, and may land without', async (t) => {
  const repo = await repository(t)
  const [minor, raised] = await each(t, repo, addition, [
    ['1.4.2', '1.4.2', 0],
    ['1.5.0', '1.5.0', 0],
  ])
  t.match(minor, 'Verdict: minor')
  t.match(minor, 'these changes ask for 1.5.0')
  t.match(raised, 'raised enough')
  const [patch] = await each(t, repo, wording, [['1.4.2', '1.4.2', 0]])
  t.match(patch, 'Verdict: patch** (1 patch)')
  t.match(patch, 'these changes ask for 1.4.3')
  t.match(patch, 'Nothing changes in its types.')
})

t.test('below 1.0 a minor version may break', async (t) => {
  const repo = await repository(t)
  for (const file of ['openapi.yaml', 'asyncapi.yaml']) repo.edit(file, version('0.3.1'))
  await repo.generate()
  repo.commit('Before the first release')
  await each(t, repo, breaking, [
    ['0.3.2', '0.3.2', 1],
    ['0.4.0', '0.4.0', 0],
  ])
})

t.test('a raised version alone is no change', async (t) => {
  const repo = await repository(t)
  for (const file of ['openapi.yaml', 'asyncapi.yaml']) repo.edit(file, version('1.5.0'))
  await repo.generate()
  const { code, stdout } = runReview(repo.path)
  t.equal(code, 0)
  t.match(stdout, 'Nothing changed in the contract.')
})

t.test('generated/ follows from the contracts, or nothing lands', async (t) => {
  const repo = await repository(t)
  t.equal(runReview(repo.path).code, 0)

  repo.edit('openapi.yaml', wording)
  const stale = runReview(repo.path)
  t.equal(stale.code, 1)
  t.match(stale.stdout, 'generated/ is stale: run `npm run generate`')
  for (const file of ['openapi.json', 'openapi.ts', 'client.ts']) t.match(stale.stdout, `generated/${file}`)
  t.notMatch(stale.stdout, 'generated/operations.ts')

  await repo.generate()
  t.equal(runReview(repo.path).code, 0)
  writeFileSync(new URL('generated/client.ts', repo.root), '// edited by hand\n')
  t.match(runReview(repo.path), { code: 1, stdout: /It concerns generated\/client\.ts\.\n/ })
  await repo.generate()
  rmSync(new URL('generated/operations.ts', repo.root))
  t.match(runReview(repo.path), { code: 1, stdout: /It concerns generated\/operations\.ts\.\n/ })
})

type Row = [openapi: string, asyncapi: string, code: number]

/** The change of openapi.yaml, with these versions in the two contracts; what the review printed each time. */
async function each(t: Test, repo: Repository, change: Edit, rows: Row[]): Promise<string[]> {
  const printed: string[] = []
  for (const [openapi, asyncapi, code] of rows) {
    repo.edit('openapi.yaml', change, version(openapi))
    repo.edit('asyncapi.yaml', version(asyncapi))
    await repo.generate()
    const result = runReview(repo.path)
    t.equal(result.code, code, `${openapi} and ${asyncapi}: exit ${code}`)
    printed.push(result.stdout)
  }
  return printed
}

function version(number: string): Edit {
  return ['version: 1.4.2', `version: ${number}`]
}
