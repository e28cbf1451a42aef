/** The commands and data in the guides. test/client/package.test.ts runs the samples in TypeScript. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { knownVariables } from '../../src/service/config/variables.ts'
import { type Block, blocks, lines } from './blocks.ts'

const root = new URL('../../', import.meta.url)
const commands = blocks.filter(({ language }) => language === 'sh')

/** By the beginning of a block: its test. The source of the other blocks says why no test runs them. */
const runBy: Record<string, string> = {
  'npx encrypted-bookmark-sync': 'test/process/registry.test.ts',
  'apt-get update && apt-get install ./encrypted-bookmark-sync': 'test/docs/operating.test.ts',
  '(cd /etc/nginx/conf.d': 'test/docs/operating.test.ts',
  'apt-get purge': 'test/docs/operating.test.ts',
  'systemctl disable': 'test/docs/operating.test.ts',
  'tar -xzf encrypted-bookmark-sync': 'test/docs/operating.test.ts',
  'openssl genpkey': 'test/deploy/release.test.ts',
  'npm ci && npm start': 'test/docs/operating.test.ts',
  '(\n  set -eC\n  npm ci': 'test/deploy/upgrade-lines.test.ts',
  '(\n  set -e\n  npm ci': 'test/deploy/upgrade-lines.test.ts',
  '(\n  set -e\n  home=': 'test/deploy/upgrade-lines.test.ts',
  'npm ci && npm run build': 'test/client/package.test.ts',
  '(cd ../encrypted-bookmark-sync && npm run build': 'test/client/package.test.ts',
  'npm pack ../encrypted-bookmark-sync': 'test/client/package.test.ts',
  'npm run demo': 'test/demo.test.ts',
  '# 1. Start signing in': 'test/docs/start.test.ts',
  'java -jar openapi-generator': 'test/docs/languages.test.ts',
  'pip install openapi-python-client': 'test/docs/languages.test.ts',
  'go run github.com/oapi-codegen': 'test/docs/languages.test.ts',
  'BACKUP_EVERY=': 'test/docs/operating.test.ts',
  'NODE_ENV=production': 'test/docs/operating.test.ts',
  OTEL_EXPORTER: 'test/docs/operating.test.ts',
  'journalctl -u': 'test/docs/operating.test.ts',
  'umask 077': 'test/docs/operating.test.ts',
  '(\n  set -e\n  compose()': 'test/docs/operating.test.ts',
}

t.test('Every command of the guides is run by a test, or its source says why not', async (t) => {
  const testOf = ({ code }: Block) => Object.entries(runBy).find(([start]) => code.startsWith(start))?.[1]
  t.same(
    commands.filter((block) => (testOf(block) === undefined) === (block.reason === undefined)),
    [],
    'each block has a test or a reason',
  )
  t.same(
    Object.keys(runBy).filter((start) => !commands.some(({ code }) => code.startsWith(start))),
    [],
    'each listed command exists',
  )
  const operators = commands.filter(({ file }) => /^README|^docs\/operating\//.test(file))
  const isRead = (block: Block) => {
    const test = testOf(block)
    return test === undefined || readFileSync(new URL(test, root), 'utf8').includes(block.file)
  }
  t.same(
    operators.filter((block) => !isRead(block)).map(({ code }) => code),
    // The test of this command runs it without reading the page.
    ['npx encrypted-bookmark-sync'],
    'tests of operating commands read the page',
  )
})

const here = 'test/docs/operating.test.ts'

/** For commands that test/docs/operating-lines.ts does not run: their tests, or the reason why there is none. */
const lineRunBy: [start: string, test: string][] = [
  ['apt-get install', here],
  ['pg_restore', here],
  ['journalctl', here],
  ['npm start', here],
  ['npm run ebs -- ', here],
  ['npm run backup', here],
  ['node ebs.mjs', here],
  ['npm run build', here],
  ['nginx -t', here],
  ['npm install --omit=optional', 'test/deploy/upgrade-lines.test.ts'],
  ['openssl rand', 'test/deploy/upgrade-lines.test.ts'],
  ['npm ci --omit=dev', 'test/dependencies.test.ts'],
  ['node src/service/main.ts', 'test/dependencies.test.ts'],
  ['SITE_ADDRESS', 'test/process/proxies.test.ts'],
  ['install -d -o encrypted-bookmark-sync -m 0700 /mnt/copies', here],
  ['ebs backup /mnt/copies/', here],
  ['ebs restore /mnt/copies/', here],
  ['npm run bench', 'test/bench.test.ts'],
  ['docker', 'not run: there is no Docker daemon'],
  ['kubectl', 'not run: there is no cluster'],
  ['litestream', 'not run: it is in no registry; the page says what was tried by hand'],
  ['npm run minio', 'not run: the tests start MinIO by the same code'],
]

t.test('Every command in the sentences of docs/operating is run by a test, or has a reason why not', async (t) => {
  const typed = readFileSync(new URL('operating-lines.ts', import.meta.url), 'utf8')
  const others = lines.filter(({ code }) => !typed.includes(code))
  t.same(
    others.filter(({ code }) => !lineRunBy.some(([start]) => code.startsWith(start))),
    [],
  )
  t.same(
    lineRunBy.filter(([start]) => !others.some(({ code }) => code.startsWith(start))),
    [],
    'each listed command exists',
  )
  for (const [start, test] of lineRunBy) {
    if (test.startsWith('not run: ')) continue
    const text = readFileSync(new URL(test, root), 'utf8')
    t.ok(test !== here || text.includes(start.trim()), start)
  }
})

t.test('Every command has the syntax of a shell', async (t) => {
  const faults = commands.map(({ file, code }) => ({
    file,
    fault: spawnSync('sh', ['-n'], { input: code, encoding: 'utf8' }).stderr,
  }))
  t.ok(faults.length > 15, `${faults.length} blocks`)
  t.same(
    faults.filter(({ fault }) => fault !== ''),
    [],
  )
})

t.test('The service reads every variable that a command of the guides sets', async (t) => {
  // The C library reads the last one before the service runs.
  const read = new Set([...knownVariables(), 'MALLOC_ARENA_MAX'])
  const set = commands.flatMap(({ file, code }) =>
    [...code.matchAll(/(?<=^|\s)([A-Z][A-Z\d_]+)=(?!\$\()/gm)].map(([, name = '']) => ({ file, name })),
  )
  t.ok(set.length > 8, `${set.length} variables`)
  t.same(
    set.filter(({ name }) => !read.has(name) && !name.startsWith('OTEL_')),
    [],
  )
})

t.test('Every sample of data is JSON', async (t) => {
  const samples = blocks.filter(({ language, code }) => language === 'json' && !code.startsWith('{"version":"1"'))
  t.ok(samples.length > 3, `${samples.length} samples`)
  t.same(
    samples.filter(({ code }) => !isJson(code) && !code.split('\n').every(isJson)),
    [],
  )
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
