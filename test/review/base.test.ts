/** What the contract is compared with, and a sentence where there is nothing to compare. */
import { execFileSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { findBase } from '../../scripts/contract/review/base.ts'
import { review } from '../../scripts/contract/review/review.ts'
import { runReview } from './command.ts'
import { emptyFolder } from './folder.ts'
import { type Edit, repository } from './repository.ts'

const first: Edit = ['The notes, newest first.', 'The notes, the newest first.']
const second: Edit = ['Stores a note.', 'Keeps a note.']

t.test('by default, where the branch left origin/main', async (t) => {
  const repo = await repository(t)
  const fork = repo.git('rev-parse', 'HEAD')
  repo.git('checkout', '--quiet', '-b', 'topic')
  repo.edit('openapi.yaml', first)
  await repo.generate()
  repo.commit('On the branch')

  repo.git('checkout', '--quiet', 'main')
  repo.edit('openapi.yaml', second)
  const ahead = repo.commit('Meanwhile on main')
  repo.git('update-ref', 'refs/remotes/origin/main', ahead)
  repo.git('checkout', '--quiet', 'topic')

  const { base, findings } = await review(repo.root)
  t.match(base, `${fork.slice(0, 7)}\`, the merge base with origin/main`)
  t.same(
    findings.map(({ message }) => message),
    ['`description` of `listNotes` is worded anew.'],
  )
})

t.test('else the last commit for what is not committed, or the previous one', async (t) => {
  const repo = await repository(t)
  const commit = repo.git('rev-parse', 'HEAD')
  repo.edit('openapi.yaml', first)
  t.match(await findBase(repo.root), { commit, name: /the last commit/ })
  repo.commit('Worded anew')
  t.match(await findBase(repo.root), { commit, name: /the previous commit/ })
  repo.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
  t.match(await findBase(repo.root), { commit, name: /the previous commit/ }, 'on main itself')
})

t.test('--base names any commit', async (t) => {
  const repo = await repository(t)
  repo.git('tag', 'v1.4.2')
  repo.edit('openapi.yaml', first)
  repo.commit('One')
  repo.edit('openapi.yaml', first, second)
  repo.commit('Two')
  t.equal((await review(repo.root, 'v1.4.2')).findings.length, 2)
  t.equal((await review(repo.root, 'HEAD^')).findings.length, 1)
  t.match(runReview(repo.path, ['--base', 'v9']), { code: 1, stdout: '', stderr: /^There is no commit `v9` here/ })
  t.match(runReview(repo.path, ['--base', '--output=x']), { code: 1, stdout: '' }, 'no option is taken for a commit')
})

t.test('a new contract, a deleted one, none before', async (t) => {
  const repo = await repository(t)
  writeFileSync(new URL('hooks.yaml', repo.root), 'asyncapi: 3.0.0\ninfo: { title: Hooks, version: 1.0.0 }\n')
  t.match(await review(repo.root), { verdict: 'minor', findings: [{ file: 'hooks.yaml', message: /is new/ }] })
  rmSync(new URL('hooks.yaml', repo.root))

  rmSync(new URL('asyncapi.yaml', repo.root))
  const gone = runReview(repo.path)
  t.match(gone.stdout, /major.*The contract is gone\. \| asyncapi\.yaml/)
  t.match(gone.stdout, 'it cannot be made')
  t.equal(gone.code, 1)

  const later = await repository(t)
  later.git('checkout', '--quiet', '--orphan', 'fresh')
  later.git('rm', '--quiet', '-r', '--cached', '.')
  writeFileSync(new URL('README.md', later.root), 'Notes\n')
  later.git('add', 'README.md')
  later.git('commit', '--quiet', '--message', 'Before there was a contract')
  const result = await review(later.root, 'HEAD')
  t.equal(result.verdict, 'minor')
  t.same(
    result.findings.map(({ file, message }) => `${file} ${message}`),
    ['asyncapi.yaml The contract is new.', 'openapi.yaml The contract is new.'],
  )
})

t.test('the first commit, and no commit at all: everything is new', async (t) => {
  const repo = await repository(t)
  const { code, stdout } = runReview(repo.path)
  t.equal(code, 0)
  t.match(stdout, 'Compared with nothing: this is the first commit.')
  t.match(stdout, 'Verdict: minor')
  rmSync(new URL('.git', repo.root), { recursive: true })
  repo.git('init', '--quiet')
  t.match(await review(repo.root), { base: /no commit yet/, verdict: 'minor' })
})

t.test('a sentence, and exit 1, where nothing can be compared', async (t) => {
  const outside = emptyFolder(t)
  t.same(runReview(outside), {
    code: 1,
    stdout: '',
    stderr: 'This folder is in no git repository, so there is nothing to compare the contract with.\n',
  })
  const repo = await repository(t)
  t.match(runReview(repo.path, [], { PATH: outside }), { code: 1, stdout: '', stderr: /^There is no git here/ })

  repo.edit('openapi.yaml', first)
  repo.commit('Two')
  const shallow = emptyFolder(t)
  execFileSync('git', ['clone', '--quiet', '--depth=1', pathToFileURL(repo.path).href, shallow])
  execFileSync('git', ['update-ref', '-d', 'refs/remotes/origin/main'], { cwd: shallow })
  t.match(runReview(shallow), { code: 1, stdout: '', stderr: /^This clone is too shallow/ })

  repo.edit('openapi.yaml', ['paths:', 'paths: ['])
  t.match(runReview(repo.path), {
    code: 1,
    stdout: '',
    stderr: /^This openapi\.yaml is no contract that can be read\./,
  })
  repo.edit('openapi.yaml', ['openapi: 3.1.0', 'openapi: 4.0.0'])
  t.match(runReview(repo.path), { code: 1, stdout: '', stderr: /^[^\n]*openapi\.yaml[^\n]*\n$/ })
})
