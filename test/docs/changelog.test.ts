import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { readHistory, writeChangelog } from '../../scripts/contract/documents/changelog.ts'

const run = promisify(execFile)
const contract = new URL('../fixtures/contract/', import.meta.url)

t.test('Each commit that changed the contract is there, newest first, with what it changed', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'ebs-changelog-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const root = pathToFileURL(`${folder}/`)
  t.equal(await readHistory(root), null, 'no git')

  const git = (...args: string[]) =>
    run('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], { cwd: folder })
  const commit = async (subject: string) => {
    await git('add', '.')
    await git('commit', '--quiet', '-m', subject)
  }
  await git('init', '--quiet')
  await cp(contract, folder, { recursive: true })
  const edit = async (name: string, from: string, to: string) => {
    const text = await readFile(join(folder, name), 'utf8')
    t.ok(text.includes(from), from)
    await writeFile(join(folder, name), text.replaceAll(from, to))
  }
  await commit('The contract')
  await writeFile(join(folder, 'other.txt'), 'no contract')
  await commit('Something else')
  await edit('openapi.yaml', '/status:', '/condition:')
  await edit('openapi.yaml', '  version: 1.4.2', '  version: 2.0.0')
  await commit('Status is <renamed>')

  const history = (await readHistory(root)) ?? []
  t.match(history, [
    { subject: 'Status is <renamed>', version: '2.0.0', counts: { major: Number } },
    { subject: 'The contract', version: '1.4.2', counts: null },
  ])
  t.equal(history.length, 2)
  t.ok((history[0]?.counts?.major ?? 0) >= 1, 'a path that vanishes breaks clients')
  t.same(await readHistory(root), history, 'the same from the cache')
  const page = writeChangelog(history)
  t.notMatch(page, 'From-0-to-1')
  t.match(
    page,
    /<h2>2\.0\.0<\/h2>.*From-1-to-2.*Status is &lt;renamed>.*breaking.*<h2>1\.4\.2<\/h2>.*the first contract/s,
  )

  const shallow = await mkdtemp(join(tmpdir(), 'ebs-shallow-'))
  t.teardown(() => rm(shallow, { recursive: true, force: true }))
  await run('git', ['clone', '--quiet', '--depth', '1', root.href, shallow])
  t.equal(await readHistory(pathToFileURL(`${shallow}/`)), null, 'a clone without history')
  t.match(writeChangelog(null), /without the history/)
})
