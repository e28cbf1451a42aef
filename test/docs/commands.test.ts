/** The commands and data in the guides. What the samples in TypeScript do is shown by test/client/package.test.ts. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { readConfig } from '../../src/service/config/config.ts'

const root = new URL('../../', import.meta.url)
const blocks = [
  'README.md',
  'src/client/README.md',
  'src/service/README.md',
  ...globSync('docs/**/*.md', { cwd: root }),
].flatMap((file) =>
  [...readFileSync(new URL(file, root), 'utf8').matchAll(/^( *)```(\w+)\n(.*?)^ *```/gms)].map(
    ([, indent = '', language, code = '']) => ({ file, language, code: code.replaceAll(`\n${indent}`, '\n').trim() }),
  ),
)
const commands = blocks.filter(({ language }) => language === 'sh')

/** The tests that run a block of commands, by its beginning. */
const runBy: Record<string, string> = {
  'npx encrypted-bookmark-sync': 'test/process/registry.test.ts',
  'apt-get install ./encrypted-bookmark-sync': 'test/deploy/release.test.ts',
  'tar -xzf encrypted-bookmark-sync': 'test/deploy/release.test.ts',
  'openssl genpkey': 'test/deploy/release.test.ts',
  'npm ci && npm start': 'test/process/start.test.ts',
  '(\n  set -eC\n  npm ci': 'test/deploy/upgrade-lines.test.ts',
  '(\n  set -e\n  npm ci': 'test/deploy/upgrade-lines.test.ts',
  '(\n  set -e\n  home=': 'test/deploy/upgrade-lines.test.ts',
  'npm ci && npm run build': 'test/client/package.test.ts',
  '(cd ../encrypted-bookmark-sync && npm run build': 'test/client/package.test.ts',
  'npm install --install-links': 'test/client/package.test.ts',
  'npm pack ../encrypted-bookmark-sync': 'test/client/package.test.ts',
  'npm run demo': 'test/demo.test.ts',
  '# 1. Start signing in': 'test/docs/start.test.ts',
  'java -jar openapi-generator': 'test/docs/languages.test.ts',
  'pip install openapi-python-client': 'test/docs/languages.test.ts',
  'go run github.com/oapi-codegen': 'test/docs/languages.test.ts',
  'BACKUP_EVERY=': 'test/backup/scheduled.test.ts',
  'NODE_ENV=production': 'test/process/bundle.test.ts',
  OTEL_EXPORTER: 'test/http/traces.test.ts',
}
/** Those that no test can run, and why. Their syntax is checked, as that of all. */
const notRun: Record<string, string> = {
  'sh verify.sh': 'needs a release that its workflow has signed',
  'cosign verify': 'needs a published image',
  'docker build': 'needs docker; test/deploy/image.test.ts does the same by buildah',
  '(\n  set -e\n  cd "$(mktemp -d)"': 'needs nodejs.org',
  '(\n  set -e\n  image=':
    'needs a container runtime and a registry; test/deploy/kubernetes.test.ts reads the name of the image',
  'kubectl create': 'needs a cluster; test/deploy/kubernetes.test.ts reads the manifests',
  'jq -c': 'reads the log of an operator, with a program of theirs',
  'umask 077': "needs Postgres's own tools, beside the server",
}

t.test('Every command of the guides is run by a test, or is named here with the reason why not', async (t) => {
  const known = Object.keys({ ...runBy, ...notRun })
  t.same(
    commands.filter(({ code }) => !known.some((start) => code.startsWith(start))),
    [],
  )
  t.same(
    known.filter((start) => !commands.some(({ code }) => code.startsWith(start))),
    [],
    'all of them are still there',
  )
  t.same(
    Object.values(runBy).filter((file) => !existsSync(new URL(file, root))),
    [],
  )
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

t.test('Every variable that a command sets for the service is one that it reads', async (t) => {
  const read = new Set<string>()
  const provider = { OIDC_ISSUER: 'https://id.example', OIDC_CLIENT_ID: 'id', OIDC_CLIENT_SECRET: 'secret' }
  readConfig(
    new Proxy<Record<string, string>>(provider, {
      get(env, name: string) {
        read.add(name)
        return env[name]
      },
    }),
  )
  const set = commands.flatMap(({ file, code }) =>
    [...code.matchAll(/(?<=^|\s)([A-Z][A-Z\d_]+)=(?!\$\()/gm)].map(([, name = '']) => ({ file, name })),
  )
  t.ok(set.length > 8, `${set.length} variables`)
  // The C library reads it, before the service runs.
  read.add('MALLOC_ARENA_MAX')
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
