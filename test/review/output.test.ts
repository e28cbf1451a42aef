/** How the review is told: Markdown for people, annotations for GitHub. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { runReview } from './command.ts'
import { type Edit, repository } from './repository.ts'

t.test('Markdown: verdict, changes with their lines, words folded away, the client', async (t) => {
  const repo = await repository(t)
  repo.edit(
    'openapi.yaml',
    ['operationId: getStatus', 'operationId: readStatus'],
    ['default: 20', 'default: 10'],
    ['The notes, newest first.', 'The notes, the newest first.'],
  )
  const { stdout } = runReview(repo.path, ['--output', 'review.md'])
  t.equal(stdout, '')
  const markdown = readFileSync(new URL('review.md', repo.root), 'utf8')
  t.match(markdown, /^# Contract review\n\nCompared with `[\da-f]{7}`, the last commit\.\n/)
  t.match(markdown, '**Verdict: major** (2 major, 1 patch).')
  t.match(
    markdown,
    `| GET /notes › parameters › 0 | The default of \`limit\` was \`20\`, now \`10\`. | openapi.yaml:${lineOf('default: 10')} |`,
  )
  t.match(markdown, /<details><summary>1 patch<\/summary>\n\n.*worded anew.*\n\n<\/details>/s)
  t.match(markdown, '- renamed: `getStatus` → `readStatus` (`GET /status`)')

  function lineOf(text: string): number {
    const lines = readFileSync(new URL('openapi.yaml', repo.root), 'utf8').split('\n')
    return lines.findIndex((line) => line.includes(text)) + 1
  }
})

t.test('annotations stand at the line, an error for each break that is not announced', async (t) => {
  const repo = await repository(t)
  repo.edit('openapi.yaml', ['default: 20', 'default: 10'], ['x-invalid: Invalid note', 'x-invalid: "Bad: note, 100%"'])
  await repo.generate()
  const [plain, asked, onGitHub] = [
    runReview(repo.path),
    runReview(repo.path, ['--annotations']),
    runReview(repo.path, [], { GITHUB_ACTIONS: 'true' }),
  ]
  t.notMatch(plain.stdout, /^::/m)
  t.equal(asked.stdout, onGitHub.stdout)
  const lines = asked.stdout.split('\n').filter((line) => line.startsWith('::'))
  t.match(
    lines[0],
    /^::error file=openapi\.yaml,line=\d+,title=major%3A GET \/notes › parameters › 0::The default of `limit`/,
  )
  t.ok(lines.some((line) => /^::error .*::The error 400 `Invalid note` is no longer answered\.$/.test(line)))
  t.ok(lines.some((line) => /^::notice .*::The error 400 `Bad: note, 100%25` is new\.$/.test(line)))
  t.ok(lines.some((line) => line.startsWith('::error file=openapi.yaml::`info.version` of openapi.yaml stayed 1.4.2')))
})

t.test('a break that is announced is a notice, a missing smaller version a warning', async (t) => {
  const repo = await repository(t)
  const major: Edit = ['version: 1.4.2', 'version: 2.0.0']
  repo.edit('openapi.yaml', major, ['default: 20', 'default: 10'])
  repo.edit('asyncapi.yaml', major)
  await repo.generate()
  const announced = runReview(repo.path, ['--annotations'])
  t.equal(announced.code, 0)
  t.match(announced.stdout, /^::notice .*default of `limit`/m)
  t.notMatch(announced.stdout, /^::(error|warning)/m)

  repo.restore()
  repo.edit('openapi.yaml', ['maximum: 100', 'maximum: 200'])
  await repo.generate()
  const addition = runReview(repo.path, ['--annotations'])
  t.equal(addition.code, 0)
  t.match(addition.stdout, /^::warning file=openapi\.yaml::.*ask for 1\.5\.0/m)

  repo.edit('openapi.yaml', ['maximum: 100', 'maximum: 300'])
  t.match(
    runReview(repo.path, ['--annotations']).stdout,
    /^::error file=generated\/openapi\.json::Stale: run `npm run generate`/m,
  )
})
