import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'

export type Env = Record<string, string>
export type Fault = [what: string, env: Env, line: RegExp]

/** Enough to start outside development. */
const staging: Env = {
  NODE_ENV: 'staging',
  SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
  OIDC_ISSUER: 'https://id.example',
  OIDC_CLIENT_ID: 'id',
  OIDC_CLIENT_SECRET: 'secret',
}
const production: Env = { ...staging, NODE_ENV: 'production', PUBLIC_URL: 'https://sync.example.org' }

export const faultyValues: Fault[] = [
  ['an unknown environment', { NODE_ENV: 'test' }, /^NODE_ENV must be one of: development, staging, pro/],
  ['no host name', { HOST: 'no host' }, /^HOST /],
  ['a port out of range', { PORT: '65536' }, /^PORT must be an integer from 0 to 65535/],
  ['an admin port out of range', { ADMIN_PORT: '0' }, /^ADMIN_PORT must be an integer from 1 to 65535/],
  ['no admin host name', { ADMIN_HOST: 'no host' }, /^ADMIN_HOST /],
  ['a path in PUBLIC_URL', { PUBLIC_URL: 'https://example.org/app' }, /^PUBLIC_URL must be .* without a path/],
  ['production over http', { ...production, PUBLIC_URL: '' }, /^PUBLIC_URL must be https if NODE_ENV is production/],
  ['development in public', { PUBLIC_URL: 'https://example.org' }, /^PUBLIC_URL is public: set NODE_ENV to production/],
  ['another kind of database', { DATABASE_URL: 'mysql://localhost' }, /^DATABASE_URL /],
  [
    'several hosts of a database',
    { DATABASE_URL: 'postgres://user:a,b@one:5432,two:5432/db?target_session_attrs=read-write' },
    /^DATABASE_URL must name one host/,
  ],
  [
    'several hosts for notices',
    { DATABASE_URL: 'postgres://h/db', PULSE_DATABASE_URL: 'postgres:///db?host=a,b' },
    /^PULSE_DATABASE_URL must name one/,
  ],
  [
    'a password that ends the URL',
    { DATABASE_URL: 'postgres://user:p#ss@host/db' },
    /^DATABASE_URL must be a URL, .*encoded/,
  ],
  ['a short secret', { SECRET_KEY: 'c2hvcnQ=' }, /^SECRET_KEY must be 32 bytes in base64/],
  ['no secret outside development', { ...staging, SECRET_KEY: '' }, /^SECRET_KEY is required in staging/],
  ['no issuer outside development', { ...staging, OIDC_ISSUER: '' }, /^OIDC_ISSUER is required in staging/],
  ['an http issuer in staging', { ...staging, OIDC_ISSUER: 'http://id.example' }, /^OIDC_ISSUER must be https/],
  ['no client id', { ...staging, OIDC_CLIENT_ID: '' }, /^OIDC_CLIENT_ID is required/],
  ['no client secret', { ...staging, OIDC_CLIENT_SECRET: '' }, /^OIDC_CLIENT_SECRET is required/],
  ['scopes without openid', { ...staging, OIDC_SCOPES: 'profile' }, /^OIDC_SCOPES must .*openid/],
  ['no port number', { DEV_IDP_PORT: 'x' }, /^DEV_IDP_PORT must be an integer/],
  [
    'an inexact origin',
    { CORS_ORIGIN: 'https://ok.example, https://*.example' },
    /^CORS_ORIGIN .*: https:\/\/\*\.example/,
  ],
  ['a cookie domain outside production', { COOKIE_DOMAIN: 'example.org' }, /^COOKIE_DOMAIN is for production only/],
  ['a cookie domain of others', { ...production, COOKIE_DOMAIN: 'example.com' }, /^COOKIE_DOMAIN /],
  ['an app without an origin', { APP_URL: 'app.example' }, /^APP_URL must be an http or https origin/],
  ['no network', { TRUST_PROXY: '10.0.0.0/33' }, /^TRUST_PROXY /],
  ['a rate of zero', { RATE_LIMIT_PER_MINUTE: '0' }, /^RATE_LIMIT_PER_MINUTE must be an integer from 1/],
  ['an unknown level', { LOG_LEVEL: 'loud' }, /^LOG_LEVEL must be one of: fatal, /],
]

/** Data that no service can start on, in this folder. */
export async function makeFaultyData(cwd: string): Promise<Fault[]> {
  await mkdir(join(cwd, 'folder'))
  await writeFile(join(cwd, 'folder/secret.key'), 'cut off')
  await writeFile(join(cwd, 'text'), 'This is no database, but it is long enough to be taken for one. '.repeat(20))
  makeDatabase(join(cwd, 'foreign.db'), 'create table users (name text)')
  makeDatabase(join(cwd, 'newer.db'), 'create table kysely_migration (name text primary key, timestamp text)')
  makeDatabase(join(cwd, 'newer.db'), "insert into kysely_migration values ('9999-later', '2030-01-01')")
  return [
    ['a database that is a folder', { DATABASE_URL: `sqlite:${cwd}/folder` }, /^DATABASE_URL: .*folder /],
    ['a file that is not a database', { DATABASE_URL: `sqlite:${cwd}/text` }, /^DATABASE_URL: .*text .*not a database/],
    [
      'a database of another program',
      { DATABASE_URL: `sqlite:${cwd}/foreign.db` },
      /^DATABASE_URL: .*users.*already exists/,
    ],
    [
      'a database from a newer version',
      { DATABASE_URL: `sqlite:${cwd}/newer.db` },
      /^DATABASE_URL: .*newer version .*9999-later/,
    ],
    [
      'a database below a file',
      { DATABASE_URL: `sqlite:${cwd}/text/bookmarks.db` },
      /^DATABASE_URL: .*text\/bookmarks.db cannot be/,
    ],
    ['a data folder below a file', { DATA_DIR: `${cwd}/text/data` }, /^DATA_DIR: .*text\/data cannot be written/],
    [
      'an export folder below a file',
      { EXPORTS_DIR: `${cwd}/text/exports` },
      /^EXPORTS_DIR: .*text\/exports cannot be/,
    ],
    ['a damaged secret file', { DATA_DIR: `${cwd}/folder` }, /^SECRET_KEY: .*folder\/secret.key/],
  ]
}

function makeDatabase(path: string, sql: string): void {
  const sqlite = new Sqlite(path)
  sqlite.exec(sql)
  sqlite.close()
}
