import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import packageJson from '../package.json' with { type: 'json' }
import { spawnService } from '../scripts/development/servers/service.ts'
import { readConfig } from '../src/config/config.ts'
import { compileCache } from './support/compile-cache.ts'

const root = new URL('../', import.meta.url)
const readme = readFileSync(new URL('README.md', root), 'utf8')
const provider = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: 'secret' }

t.test('The configuration table has every variable that is read, and no other', async (t) => {
  const read = new Set<string>()
  readConfig(
    new Proxy<Record<string, string>>(provider, {
      get(env, name: string) {
        read.add(name)
        return env[name]
      },
    }),
  )
  t.same(
    configuration()
      .flatMap(({ names }) => names)
      .toSorted(),
    [...read].toSorted(),
  )
})

t.test('Its defaults are those that apply', async (t) => {
  const literal = configuration().filter(({ initial }) => /^`[^`]+`$/.test(initial))
  t.ok(literal.length >= 8, `${literal.length} variables`)
  const env = Object.fromEntries(literal.map(({ names: [name], initial }) => [name, fillIn(initial.slice(1, -1))]))
  t.same(readConfig({ ...env, ...provider, DATA_DIR: undefined }), readConfig(provider))
  t.equal(readConfig({}).dataDir, env.DATA_DIR)
})

t.test('Every file, folder and command that it names exists', async (t) => {
  const paths = [...readme.matchAll(/`((?:src|test|scripts|generated|deploy)\/[\w./-]*)`/g)].map(
    ([, path = '']) => path,
  )
  t.ok(paths.length > 20, `${paths.length} paths`)
  t.same(
    paths.filter((path) => !existsSync(new URL(path, root))),
    [],
  )
  const commands = [...readme.matchAll(/npm (?:run )?([a-z]+)/g)].map(([, name = '']) => name)
  const known = new Set([...Object.keys(packageJson.scripts), 'ci', 'install'])
  t.same(
    commands.filter((name) => !known.has(name)),
    [],
  )
})

t.test('The five curl calls sign in and sync', async (t) => {
  if (spawnSync('curl', ['--version']).error) return t.comment('SKIPPED: no curl here')
  const folder = t.testdir()
  const service = await spawnService(folder, compileCache)
  t.teardown(() => service.stop())
  await service.ready()
  const [, script = ''] = /## A first sync in five calls\n+```sh\n(.*?)```/s.exec(readme) ?? []
  t.equal(script.match(/\bcurl -/g)?.length, 5)
  const { stdout, stderr } = spawnSync('sh', ['-e', '-u'], {
    input: script.replaceAll('http://127.0.0.1:3000', service.url.origin),
    encoding: 'utf8',
    env: { PATH: process.env.PATH, TMPDIR: folder },
  })
  t.equal(stderr, '')
  const [session, bookmark, page] = stdout
    .replaceAll('}{', '}\n{')
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(session, { authenticated: true, user: { name: 'Ada' } })
  t.match(page, { changes: [{ entity_id: bookmark.id, device_id: 'laptop', operation: 'create' }], has_more: false })
})

/** The rows of the configuration table. */
function configuration(): { names: string[]; initial: string }[] {
  const [, section = ''] = /## Configuration\n(.*?)\n## /s.exec(readme) ?? []
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) => {
    const [, names = '', initial = ''] = row
      .split(' | ')
      .map((cell) => cell.trim())
      .toSpliced(0, 0, '')
    return { names: [...names.matchAll(/`([A-Z\d_]+)`/g)].map(([, name = '']) => name), initial }
  })
}

function fillIn(initial: string): string {
  return initial.replace('HOST:PORT', '127.0.0.1:3000').replace('DATA_DIR', 'data')
}
