/** The base commit with which a review compares the contract, and the error if there is none. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { findBase } from '../../scripts/contract/review/base.ts'
import { markdown } from '../../scripts/contract/review/output.ts'
import { isRefused, review } from '../../scripts/contract/review/review.ts'
import type { Edit } from './contract.ts'
import { emptyFolder, repository, runReview } from './repository.ts'

const first: Edit = ['The notes, newest first.', 'The notes, the newest first.']
const second: Edit = ['Stores a note.', 'Keeps a note.']
const hooks = 'asyncapi: 3.0.0\ninfo: { title: Hooks, version: 1.0.0 }\n'

t.test('By default, the base is where the branch left origin/main', async (t) => {
  const repo = repository(t)
  const fork = repo.git('rev-parse', 'HEAD')
  repo.git('checkout', '--quiet', '-b', 'topic')
  writeFileSync(new URL('hooks.yaml', repo.root), hooks)
  repo.commit('On the branch')

  repo.git('checkout', '--quiet', 'main')
  repo.edit('openapi.yaml', first)
  const ahead = repo.commit('Meanwhile on main')
  repo.git('update-ref', 'refs/remotes/origin/main', ahead)
  repo.git('checkout', '--quiet', 'topic')

  const { base, findings } = await review(repo.root)
  t.equal(base, `\`${fork.slice(0, 7)}\`, the merge base with origin/main`)
  t.same(
    findings.map(({ file, message }) => `${file} ${message}`),
    ['hooks.yaml The contract is new.'],
  )
})

t.test('Otherwise the base is the last commit for uncommitted changes, or else the previous one', async (t) => {
  const repo = repository(t)
  const commit = repo.git('rev-parse', 'HEAD')
  repo.edit('openapi.yaml', first)
  t.match(await findBase(repo.root), { commit, name: /the last commit/ })
  repo.commit('Reworded')
  t.match(await findBase(repo.root), { commit, name: /the previous commit/ })
  repo.git('update-ref', 'refs/remotes/origin/main', 'HEAD')
  t.match(await findBase(repo.root), { commit, name: /the previous commit/ }, 'on main itself')
})

t.test('--base can name any commit', async (t) => {
  const repo = repository(t)
  const commit = repo.git('rev-parse', 'HEAD')
  repo.git('tag', 'v1.4.2')
  repo.edit('openapi.yaml', first)
  const previous = repo.commit('One')
  repo.edit('openapi.yaml', first, second)
  repo.commit('Two')
  t.same(await findBase(repo.root, 'v1.4.2'), { commit, name: '`v1.4.2`' })
  t.same(await findBase(repo.root, 'HEAD^'), { commit: previous, name: '`HEAD^`' })
  const said = 'The commit `v9` does not exist here. In a shallow clone, fetch it first.\n'
  t.same(runReview(repo.path, ['--base', 'v9', '--output', 'review.md']), { code: 1, stdout: '', stderr: said })
  t.equal(readFileSync(new URL('review.md', repo.root), 'utf8'), `# Contract review\n\n${said}`)
  t.match(runReview(repo.path, ['--base', '--output=x']), { code: 1, stdout: '' }, 'an option is not a commit')
})

t.test('A review handles a new contract, a deleted one, and a base without contracts', async (t) => {
  const repo = repository(t)
  writeFileSync(new URL('hooks.yaml', repo.root), hooks)
  t.match(await review(repo.root), { verdict: 'minor', findings: [{ file: 'hooks.yaml', message: /is new/ }] })
  rmSync(new URL('hooks.yaml', repo.root))

  rmSync(new URL('asyncapi.yaml', repo.root))
  const gone = await review(repo.root)
  t.match(markdown(gone), /major.*The contract is gone\. \| asyncapi\.yaml/)
  t.match(markdown(gone), 'which cannot be generated')
  t.equal(isRefused(gone), true)

  const later = repository(t)
  later.git('checkout', '--quiet', '--orphan', 'fresh')
  later.git('rm', '--quiet', '-r', '--cached', '.')
  writeFileSync(new URL('README.md', later.root), 'Notes\n')
  later.git('add', 'README.md')
  later.git('commit', '--quiet', '--message', 'Before there was a contract')
  const { verdict, findings } = await review(later.root, 'HEAD')
  t.equal(verdict, 'minor')
  t.same(
    findings.map(({ file, message }) => `${file} ${message}`),
    ['asyncapi.yaml The contract is new.', 'openapi.yaml The contract is new.'],
  )
})

t.test('In the first commit, and without a commit, the whole contract is new', async (t) => {
  const repo = repository(t)
  const initial = await review(repo.root)
  t.match(initial, { base: 'nothing: this is the first commit', verdict: 'minor' })
  t.equal(isRefused(initial), false)
  rmSync(new URL('.git', repo.root), { recursive: true })
  repo.git('init', '--quiet')
  t.match(await review(repo.root), { base: /no commit yet/, verdict: 'minor' })
})

t.test("The review uses the base's rules, and says that the rules changed", async (t) => {
  const repo = repository(t)
  const compare = new URL('scripts/contract/review/compare.ts', repo.root)
  mkdirSync(new URL('.', compare), { recursive: true })
  const rules = (impact: string) =>
    `export const compareContracts = async () => ({ verdict: '${impact}', findings: [], versions: [] })\n`
  writeFileSync(compare, rules('minor'))
  repo.commit('Rules')
  repo.edit('openapi.yaml', ['default: 20', 'default: 10'])
  t.match(await review(repo.root, 'HEAD'), { verdict: 'major', rules: undefined })

  writeFileSync(compare, rules('patch'))
  const judged = await review(repo.root, 'HEAD')
  t.equal(judged.verdict, 'minor')
  const said = '**The rules of this review changed: scripts/contract/review/compare.ts.** '
  t.match(markdown(judged), `${said}The verdicts are those of the base's rules; by the new ones, it is major.`)

  writeFileSync(compare, 'throw new Error("broken")\n')
  repo.commit('Broken rules')
  repo.edit('openapi.yaml')
  writeFileSync(compare, rules('patch'))
  const alone = await review(repo.root, 'HEAD')
  t.equal(alone.verdict, 'major')
  t.match(markdown(alone), `${said}Those of the base cannot judge (broken)`)
})

t.test('If nothing can be compared, a sentence says why', async (t) => {
  const outside = emptyFolder(t)
  const isSaid = (root: URL, message: string | RegExp) => t.rejects(review(root), { name: 'ReviewError', message })
  await isSaid(
    pathToFileURL(`${outside}/`),
    'This folder is not in a git repository, so there is nothing to compare the contract with.',
  )
  const repo = repository(t)
  repo.edit('openapi.yaml', first)
  repo.commit('Two')
  const shallow = emptyFolder(t)
  execFileSync('git', ['clone', '--quiet', '--depth=1', pathToFileURL(repo.path).href, shallow])
  execFileSync('git', ['update-ref', '-d', 'refs/remotes/origin/main'], { cwd: shallow })
  await isSaid(pathToFileURL(`${shallow}/`), /^This clone is too shallow/)

  repo.edit('openapi.yaml', ['paths:', 'paths: ['])
  await isSaid(repo.root, /^This openapi\.yaml is not a readable contract\./)
  repo.edit('openapi.yaml', ['openapi: 3.1.0', 'openapi: 4.0.0'])
  await isSaid(repo.root, /^[^\n]*openapi\.yaml[^\n]*$/)

  const { PATH } = process.env
  t.teardown(() => Object.assign(process.env, { PATH }))
  process.env.PATH = outside
  await isSaid(repo.root, /^git is not installed/)
})
