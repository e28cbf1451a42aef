/** The GitHub workflows are valid, run existing commands, and have only the permissions that they need. */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseYaml } from '@redocly/openapi-core'
import t, { type Test } from 'tap'
import packageJson from '../../package.json' with { type: 'json' }

const folder = new URL('../../.github/workflows/', import.meta.url)

interface Workflow {
  name: string
  on: unknown
  permissions: Record<string, string>
  jobs: Record<string, Job>
}

interface Job {
  permissions: Record<string, string>
  needs?: string | string[]
  'runs-on': string
  'timeout-minutes': number
  if?: string
  steps: Step[]
}

interface Step {
  uses?: string
  run?: string
  with?: Record<string, unknown>
  env?: Record<string, string>
}

const files = readdirSync(folder)
const workflows = new Map(
  files.map((file) => [file, parseYaml(readFileSync(new URL(file, folder), 'utf8')) as Workflow]),
)
const jobs = [...workflows].flatMap(([file, { jobs }]) =>
  Object.entries(jobs).map(([name, job]) => ({ name: `${file}: ${name}`, job })),
)

const pinned = /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/
const isReleaseJob = (name: string) => name.startsWith('release.yml')

t.test('the steps are valid shell, and each npm script exists in package.json', async (t) => {
  for (const { name, job } of jobs)
    for (const { run = '' } of job.steps) {
      t.equal(spawnSync('bash', ['-n'], { input: run }).status, 0, `${name}: ${run}`)
      for (const [, script = ''] of run.matchAll(/npm run ([\w:-]+)/g)) t.ok(script in packageJson.scripts, script)
      // The nightly run installs another version of Node with npm.
      for (const [, command = ''] of run.replace('npm install --no-save node@', '').matchAll(/npm (\w+)/g))
        t.ok(
          ['ci', 'test', 'run', ...(isReleaseJob(name) ? ['audit', 'publish', 'view'] : [])].includes(command),
          command,
        )
    }
  const [major] = packageJson.devDependencies.node.split('.')
  const setups = jobs.flatMap(({ job }) => job.steps.filter(({ uses }) => uses?.startsWith('actions/setup-node')))
  t.same([...new Set(setups.map((step) => step.with?.['node-version']))], [Number(major)])
})

t.test('ci.yml runs what docs/contributing.md says, on every push to main and pull request', async (t) => {
  const { on, jobs } = workflow('ci.yml')
  t.same(on, { push: { branches: ['main'] }, pull_request: null })
  const runs = jobs.test?.steps.flatMap(({ run }) => run ?? [])
  t.same(
    runs?.filter((run) => run.startsWith('npm')),
    ['npm ci', 'npm test', 'npm run check'],
  )
})

t.test('release.yml runs for tags only, and runs all tests before a job may write anything', async (t) => {
  const { on, jobs } = workflow('release.yml')
  t.same(on, { push: { tags: ['v*'] } })
  const runs = jobs.build?.steps.flatMap(({ run }) => run ?? [])
  for (const run of ['npm run release -- --check', 'npm run check', 'npm test', 'npm run release'])
    t.ok(runs?.includes(run), run)
  for (const [name, { needs, permissions }] of Object.entries(jobs))
    t.equal(Object.values(permissions).includes('write'), [needs].flat().includes('build'), name)
})

t.test('nightly.yml runs the tests with --deep, and the generated clients of all languages', async (t) => {
  const { on, jobs } = workflow('nightly.yml')
  t.match(on, { schedule: [{ cron: /^\d+ \d+ \* \* \*$/ }] })
  t.ok(jobs.test?.steps.some(({ run }) => run === 'npm test -- --deep'))
  t.ok(jobs.clients?.steps.some(({ run }) => run === 'npm run conform -- --clients --strict'))
})

t.test('jobs have only named permissions, pin actions, and run no branch code with write access', async (t) => {
  for (const [file, { permissions, on }] of workflows) {
    t.same(permissions, {}, file)
    t.notMatch(JSON.stringify(on), /pull_request_target|workflow_run/, file)
  }
  for (const { name, job } of jobs) {
    for (const { uses } of job.steps) if (uses) t.match(uses, pinned, name)
    const writes = Object.values(job.permissions).includes('write')
    const ownCode = job.steps.some(({ uses = '', run = '' }) => /checkout/.test(uses) || /npm|node/.test(run))
    // The release is exempt: people who may push a tag may also publish.
    if (!isReleaseJob(name)) t.notOk(writes && ownCode, name)
    for (const step of job.steps.filter(({ uses }) => uses?.startsWith('actions/checkout')))
      t.equal(step.with?.['persist-credentials'], false, name)
  }
})

t.test('the review comments once on a pull request, then updates its comment', async (t) => {
  const step = workflow('spec-review.yml').jobs.comment?.steps.find(({ run }) => run)
  const script = step?.run ?? ''
  t.equal(step?.env?.LC_ALL, 'C.UTF-8', 'the shell counts characters, not bytes')
  const first = comment(t, script, '')
  t.match(first, /^api --silent --method POST repos\/o\/r\/issues\/7\/comments --field body=@comment\.md$/m)
  const second = comment(t, script, '4711')
  t.match(second, /^api --silent --method PATCH repos\/o\/r\/issues\/comments\/4711 --field body=@comment\.md$/m)
  t.notMatch(second, 'POST')
})

function workflow(file: string): Workflow {
  const found = workflows.get(file)
  if (!found) throw new Error(`There is no ${file}`)
  return found
}

/** Runs the step with a fake `gh` that has this comment. Returns the calls of `gh`. */
function comment(t: Test, script: string, known: string): string {
  const cwd = t.testdir({ 'review.md': `# Contract review\n-${'ü'.repeat(70_000)}\n` })
  writeFileSync(join(cwd, 'gh'), `#!/bin/sh\necho "$@" >> calls\ncase "$*" in *--jq*) printf '%s' '${known}' ;; esac\n`)
  chmodSync(join(cwd, 'gh'), 0o755)
  const env = {
    LC_ALL: 'C.UTF-8',
    PATH: `${cwd}:${process.env.PATH}`,
    COMMENTS: 'repos/o/r/issues/7/comments',
    COMMENT: 'repos/o/r/issues/comments',
  }
  const { status, stderr } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', script], { cwd, env, encoding: 'utf8' })
  t.equal(status, 0, stderr)
  const body = readFileSync(join(cwd, 'comment.md'), 'utf8')
  t.match(body, /^<!-- contract-review -->\n# Contract review\n-ü+\n$/)
  t.ok(body.length < 65_536)
  t.ok(existsSync(join(cwd, 'calls')))
  return readFileSync(join(cwd, 'calls'), 'utf8')
}
