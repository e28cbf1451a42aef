/** The output of a review: Markdown for people, annotations for GitHub. */
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import type { Finding } from '../../scripts/contract/review/impact.ts'
import { annotations, markdown } from '../../scripts/contract/review/output.ts'
import { deep } from '../support/depth.ts'
import type { Edit } from './contract.ts'
import { repository, runReview } from './repository.ts'
import { reviewOf } from './review-of.ts'

t.test('A breaking change without a major version: Markdown in a file, annotations at the lines, exit 1', async (t) => {
  const repo = repository(t)
  repo.edit(
    'openapi.yaml',
    ['operationId: getStatus', 'operationId: readStatus'],
    ['default: 20', 'default: 10'],
    ['The notes, newest first.', 'The notes, the newest first.'],
    ['x-invalid: Invalid note', 'x-invalid: "Bad: note, 100%"'],
  )
  await repo.generate()
  const { code, stdout } = runReview(repo.path, ['--output', 'review.md', '--annotations'])
  t.equal(code, 1)

  const line = lineOf('default: 10')
  const written = readFileSync(new URL('review.md', repo.root), 'utf8')
  t.match(written, /^# Contract review\n\nCompared with `[\da-f]{7}`, the last commit\.\n/)
  t.match(written, '**Verdict: major** (3 major, 1 minor, 1 patch).')
  t.match(
    written,
    `| GET /notes › parameters › limit › default | The default of \`limit\` changed from \`20\` to \`10\`. | openapi.yaml:${line} |`,
  )
  t.match(
    written,
    /<details><summary>1 patch<\/summary>\n\n.*<br>The notes, <ins>the<\/ins> newest first\.\n\n<\/details>/s,
  )
  t.notMatch(written, /^::/m)

  const lines = stdout.trimEnd().split('\n').toSorted()
  t.match(lines, [
    /^::error file=asyncapi\.yaml::`info\.version` of asyncapi\.yaml stayed 1\.4\.2/,
    /^::error file=openapi\.yaml,line=\d+,title=major%3A .*`getStatus` to `readStatus`/,
    `::error file=openapi.yaml,line=${line},title=major%3A GET /notes › parameters › limit › default::The default of \`limit\``,
    /^::error file=openapi\.yaml,line=\d+,title=major%3A .*::The error 400 `Invalid note` is no longer returned\.$/,
    /^::error file=openapi\.yaml::`info\.version` of openapi\.yaml stayed 1\.4\.2/,
    /^::notice file=openapi\.yaml,line=\d+,title=minor%3A .*::The error 400 `Bad: note, 100%25` is new\.$/,
  ])
  t.equal(lines.length, 6)

  function lineOf(text: string): number {
    const lines = readFileSync(new URL('openapi.yaml', repo.root), 'utf8').split('\n')
    return lines.findIndex((line) => line.includes(text)) + 1
  }
})

deep(t, 'A breaking change with a major version is accepted: on GitHub it is a notice', async (t) => {
  const repo = repository(t)
  const major: Edit = ['version: 1.4.2', 'version: 2.0.0']
  repo.edit('openapi.yaml', major, ['default: 20', 'default: 10'])
  repo.edit('asyncapi.yaml', major)
  await repo.generate()
  const { code, stdout } = runReview(repo.path, [], { GITHUB_ACTIONS: 'true' })
  t.equal(code, 0)
  t.match(stdout, '**Verdict: major** (1 major). `info.version` is high enough: 1.4.2 → 2.0.0.')
  t.match(stdout, /^::notice .*default of `limit`/m)
  t.notMatch(stdout, /^::(error|warning)/m)
})

deep(t, 'Stale generated files are refused; annotations appear only on request', async (t) => {
  const repo = repository(t)
  writeFileSync(new URL('generated/client.ts', repo.root), '// edited by hand\n')
  const { code, stdout } = runReview(repo.path, ['--base', 'HEAD'])
  t.equal(code, 1)
  t.match(stdout, '**Nothing changed in the contract.**')
  t.match(stdout, '**generated/ is stale: run `npm run generate`.** Affected: generated/client.ts.\n')
  t.notMatch(stdout, /^::/m)
})

t.test('Rewordings that may change a promise show old and new words; a shared part is reported once', (t) => {
  const reworded = (before: string, after: string): Finding => {
    const message = '`description` of `GET /notes` was reworded.'
    return {
      file: 'openapi.yaml',
      impact: 'patch',
      place: 'GET /notes',
      message,
      operations: [],
      words: [before, after],
    }
  }
  const review = {
    ...reviewOf('patch', '1.4.2', '1.4.3', '1.4.3'),
    findings: [
      reworded('Pages. A page has 64 notes. More.', 'Pages. A page has 4 notes. More.'),
      reworded('It is stored. The greater `device_id` wins.', 'It is stored. The smaller `device_id` wins.'),
      reworded('Null while live. Set when removed (Unix ms).', 'Null while live. Set when removed (Unix s).'),
      reworded('Seconds to wait.', 'Milliseconds to wait.'),
      reworded('Soft delete.', 'Hard delete.'),
      reworded('The server never asks.', 'The server sometimes asks.'),
      reworded('All notes, big and small.', 'All notes, small and big.'),
    ],
  }
  const written = markdown(review)
  const [shown, folded] = written.split('<details><summary>1 patch</summary>')
  t.match(shown, /## Words.*<br>… A page has <del>64<\/del> <ins>4<\/ins> notes\. …/s)
  t.match(shown, '<br>… The <del>greater</del> <ins>smaller</ins> `device_id` wins.')
  t.match(shown, 'Set when removed (Unix <del>ms).</del> <ins>s).</ins>')
  t.match(shown, '<del>Seconds</del> <ins>Milliseconds</ins> to wait.')
  t.match(shown, '<del>Soft</del> <ins>Hard</ins> delete.')
  t.match(shown, 'The server <del>never</del> <ins>sometimes</ins> asks.')
  t.match(folded, /All notes, .*big/)

  const found = (name: string): Finding => ({
    ...{ file: 'openapi.yaml', impact: 'major', place: `Unauthorized › ${name}`, message: `\`${name}\` is gone.` },
    ...{ at: `#/components/responses/Unauthorized/${name}`, operations: ['listNotes', 'createNote'] },
  })
  const grouped = markdown({ ...review, findings: [found('headers'), found('content')] })
  const reach = '<details><summary>reaches 2 operations</summary>listNotes, createNote</details>'
  t.match(
    grouped,
    `| Unauthorized ${reach} | headers: \`headers\` is gone.<br>content: \`content\` is gone. | openapi.yaml |`,
  )
  t.end()
})

t.test('The review says which version a change requires', async (t) => {
  const major = reviewOf('major', '1.4.2', '1.4.2', '1.5.0')
  t.match(markdown(major), '**`info.version` of openapi.yaml stayed 1.4.2; these changes require 2.0.0.**')
  t.match(markdown(major), '**`info.version` of asyncapi.yaml went from 1.4.2 to 1.5.0; these changes require 2.0.0.**')
  const minor = reviewOf('minor', '1.4.2', '1.4.2', '1.4.2')
  t.match(markdown(minor), /Verdict: minor.* \(1 minor\).*these changes require 1\.5\.0/s)
  t.match(annotations(minor), /^::warning file=openapi\.yaml::.*require 1\.5\.0/m)
  t.match(markdown(reviewOf('minor', '1.4.2', '1.5.0', '1.5.0')), 'high enough: 1.4.2 → 1.5.0')
  const patch = markdown(reviewOf('patch', '1.4.2', '1.4.2', '1.4.2'))
  t.match(patch, /Verdict: patch\*\* \(1 patch\).*these changes require 1\.4\.3\./s)
})

t.test('A stale file is an error on GitHub, too', async (t) => {
  const stale = ['generated/openapi.json']
  t.match(
    annotations({ ...reviewOf('patch', '1.4.2', '1.4.3', '1.4.3'), stale }),
    '::error file=generated/openapi.json::Stale: run `npm run generate`.\n',
  )
})
