import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/development/servers/free-port.ts'
import { folder, type Run, run, signInBefore, startService } from '../support/service.ts'

type Env = Record<string, string>
type Fault = [what: string, env: Env, line: RegExp]

/** Enough to start outside development. */
const staging: Env = {
  NODE_ENV: 'staging',
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  OIDC_ISSUER: 'https://id.example',
  OIDC_CLIENT_ID: 'id',
  OIDC_CLIENT_SECRET: 'secret',
}
const production: Env = { ...staging, NODE_ENV: 'production', PUBLIC_URL: 'https://sync.example.org' }

function without(env: Env, name: string): Env {
  return Object.fromEntries(Object.entries(env).filter(([key]) => key !== name))
}

const faults: Fault[] = [
  ['an environment that there is not', { NODE_ENV: 'test' }, /^NODE_ENV must be one of: development, staging, pro/],
  ['no host name', { HOST: 'no host' }, /^HOST /],
  ['an address of another machine', { HOST: '192.0.2.1' }, /^HOST: .*192\.0\.2\.1/],
  ['a port out of range', { PORT: '65536' }, /^PORT must be an integer from 0 to 65535/],
  ['an admin port out of range', { ADMIN_PORT: '0' }, /^ADMIN_PORT must be an integer from 1 to 65535/],
  ['no admin host name', { ADMIN_HOST: 'no host' }, /^ADMIN_HOST /],
  [
    'an admin address of another machine',
    { ADMIN_PORT: '29090', ADMIN_HOST: '192.0.2.1' },
    /^ADMIN_HOST: .*192\.0\.2\.1/,
  ],
  ['a path in PUBLIC_URL', { PUBLIC_URL: 'https://example.org/app' }, /^PUBLIC_URL must be .* without a path/],
  ['another kind of database', { DATABASE_URL: 'mysql://localhost' }, /^DATABASE_URL /],
  ['a database in memory, which cannot be durable', { DATABASE_URL: 'sqlite::memory:' }, /^DATABASE_URL: .*WAL.*FULL/],
  ['a database that is a folder', { DATABASE_URL: 'sqlite:folder' }, /^DATABASE_URL: folder /],
  ['a file that is no database', { DATABASE_URL: 'sqlite:text' }, /^DATABASE_URL: text .*not a database/],
  ['a database of something else', { DATABASE_URL: 'sqlite:foreign.db' }, /^DATABASE_URL: .*users.*already exists/],
  [
    'a database from a newer version',
    { DATABASE_URL: 'sqlite:newer.db' },
    /^DATABASE_URL: .*newer version .*9999-later/,
  ],
  [
    'a database below a file',
    { DATABASE_URL: 'sqlite:text/bookmarks.db' },
    /^DATABASE_URL: text\/bookmarks.db cannot be/,
  ],
  ['a data folder below a file', { DATA_DIR: 'text/data' }, /^DATA_DIR: text\/data cannot be written/],
  ['an export folder below a file', { EXPORTS_DIR: 'text/exports' }, /^EXPORTS_DIR: text\/exports cannot be written/],
  ['a short secret', { SECRET_KEY: 'c2hvcnQ=' }, /^SECRET_KEY must be 32 bytes in base64/],
  ['a damaged secret file', { DATA_DIR: 'damaged' }, /^SECRET_KEY: .*damaged\/secret.key/],
  ['no secret outside development', without(staging, 'SECRET_KEY'), /^SECRET_KEY is required in staging/],
  ['no issuer outside development', without(staging, 'OIDC_ISSUER'), /^OIDC_ISSUER is required in staging/],
  [
    'an http issuer outside development',
    { ...staging, OIDC_ISSUER: 'http://id.example' },
    /^OIDC_ISSUER must be https/,
  ],
  ['no client id', without(staging, 'OIDC_CLIENT_ID'), /^OIDC_CLIENT_ID is required/],
  ['no client secret', without(staging, 'OIDC_CLIENT_SECRET'), /^OIDC_CLIENT_SECRET is required/],
  ['scopes without openid', { ...staging, OIDC_SCOPES: 'profile' }, /^OIDC_SCOPES must .*openid/],
  ['no port number', { DEV_IDP_PORT: 'x' }, /^DEV_IDP_PORT must be an integer/],
  [
    'no exact origin',
    { CORS_ORIGIN: 'https://ok.example, https://*.example' },
    /^CORS_ORIGIN .*: https:\/\/\*\.example/,
  ],
  ['a cookie domain outside production', { COOKIE_DOMAIN: 'example.org' }, /^COOKIE_DOMAIN is for production only/],
  ['a cookie domain of others', { ...production, COOKIE_DOMAIN: 'example.com' }, /^COOKIE_DOMAIN /],
  ['an app without an origin', { APP_URL: 'app.example' }, /^APP_URL must be an http or https origin/],
  ['no network', { TRUST_PROXY: '10.0.0.0/33' }, /^TRUST_PROXY /],
  ['a rate of none', { RATE_LIMIT_PER_MINUTE: '0' }, /^RATE_LIMIT_PER_MINUTE must be an integer from 1/],
  ['a level that there is not', { LOG_LEVEL: 'loud' }, /^LOG_LEVEL must be one of: fatal, /],
]

t.test('Each fault of the environment: one clear line that begins with the variable, and exit 1', async (t) => {
  const cwd = await folder(t)
  await mkdir(join(cwd, 'folder'))
  await mkdir(join(cwd, 'damaged'))
  await writeFile(join(cwd, 'damaged/secret.key'), 'cut off')
  await writeFile(join(cwd, 'text'), 'This is no database, but it is long enough to be taken for one. '.repeat(20))
  makeDatabase(join(cwd, 'foreign.db'), 'create table users (name text)')
  makeDatabase(join(cwd, 'newer.db'), 'create table kysely_migration (name text primary key, timestamp text)')
  makeDatabase(join(cwd, 'newer.db'), "insert into kysely_migration values ('9999-later', '2030-01-01')")

  const waiting = [...faults]
  const worker = async () => {
    for (let fault = waiting.shift(); fault; fault = waiting.shift()) {
      const [what, env, line] = fault
      const ports = { PORT: String(await freePort()), DEV_IDP_PORT: String(await freePort()) }
      await refuses(t, what, run(t, { ...ports, DATA_DIR: await folder(t), ...env }, { cwd }), line)
    }
  }
  await Promise.all([worker(), worker(), worker()])
})

function makeDatabase(path: string, sql: string): void {
  const sqlite = new Sqlite(path)
  sqlite.exec(sql)
  sqlite.close()
}

async function refuses(t: Test, what: string, { exited, stdout, stderr }: Run, line: RegExp): Promise<void> {
  const exit = await exited
  t.same(exit, { code: 1, signal: null }, `${what}: exit 1`)
  t.match(stderr(), line, `${what}: ${stderr().trim()}`)
  t.match(stderr(), /^[^\n]+\n$/, `${what}: one line`)
  t.notMatch(stdout(), /address|\n\s+at /, `${what}: nothing else`)
}

t.test('A taken port: PORT, DEV_IDP_PORT, ADMIN_PORT', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const taken = String((server.address() as AddressInfo).port)
  const [free, other] = [String(await freePort()), String(await freePort())]
  for (const name of ['PORT', 'DEV_IDP_PORT', 'ADMIN_PORT']) {
    const env = { PORT: free, DEV_IDP_PORT: other, DATA_DIR: await folder(t), [name]: taken }
    await refuses(t, name, run(t, env), new RegExp(`^${name}: port ${taken} .*in use`))
  }
})

t.test('A second process on the same database', async (t) => {
  const dataDir = await folder(t)
  await signInBefore(t, dataDir, [])
  const first = await startService(t, dataDir)
  const second = run(t, { DATA_DIR: dataDir, PORT: String(await freePort()), DEV_IDP_PORT: String(await freePort()) })
  await refuses(t, 'the second', second, /^DATABASE_URL: .*bookmarks\.db is in use by another process/)
  t.equal((await first.call('GET', '/api/v1/health')).status, 200, 'the first goes on')
  await first.kill('SIGKILL')
  const third = await startService(t, dataDir)
  t.pass('one that was killed holds nothing')
  t.same(await third.kill('SIGTERM'), { code: 0, signal: null })
})

t.test('A folder that may not be written', async (t) => {
  if (process.getuid?.() === 0) return t.comment('the superuser may write everywhere: see the folders below a file')
  const cwd = await folder(t)
  await chmod(cwd, 0o500)
  const ports = { PORT: String(await freePort()), DEV_IDP_PORT: String(await freePort()) }
  await refuses(t, 'a read-only folder', run(t, ports, { cwd }), /^DATA_DIR: .*data cannot be written/)
})
