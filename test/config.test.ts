import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../src/service/config/config.ts'
import { ConfigError } from '../src/service/config/values.ts'
import { knownVariables } from '../src/service/config/variables.ts'

type Env = Record<string, string>

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
const staging: Env = {
  NODE_ENV: 'staging',
  SECRET_KEY: key(7),
  OIDC_ISSUER: 'https://id.example',
  OIDC_CLIENT_ID: 'id',
  OIDC_CLIENT_SECRET: 'secret',
}
const production: Env = { ...staging, NODE_ENV: 'production', PUBLIC_URL: 'https://sync.example.org' }

/** The id in this origin follows from the key in the example extension's manifest. */
const exampleExtension = 'chrome-extension://pcbjnhkdokakkkiifmcaohcbjmochang'

t.test('Without any variable, the configuration has the documented defaults', async (t) => {
  const config = readConfig({})
  t.match(config, {
    environment: 'development',
    host: '127.0.0.1',
    port: 3000,
    publicUrl: 'http://127.0.0.1:3000',
    adminHost: '127.0.0.1',
    adminPort: undefined,
    dataDir: './data',
    databaseUrl: 'sqlite:data/bookmarks.db',
    exportsDir: 'data/exports',
    secretKeys: undefined,
    identityProvider: undefined,
    developmentProviderPort: 3001,
    appUrl: undefined,
    cookieDomain: undefined,
    secureCookies: false,
    trustProxy: false,
    maxUserBytes: 2_147_483_648,
    maxUserRecords: 1_000_000,
    maxUserExportBytes: 4_294_967_296,
    rateLimitPerMinute: 1200,
    logLevel: 'info',
  })
  t.same(
    [...config.origins],
    ['http://127.0.0.1:3000', exampleExtension],
    "CORS: PUBLIC_URL's origin, and in development the example extension",
  )
  t.ok(Object.isFrozen(config))
  t.same(readConfig({ PORT: ' ', APP_URL: '', COOKIE_DOMAIN: '' }), config, 'an empty variable counts as absent')
})

t.test('Variables that admit people or choose where data lives must not be empty', async (t) => {
  const names = [
    'DATA_DIR',
    'DATABASE_URL',
    'DATABASE_URL_FILE',
    'EXPORTS_DIR',
    'BACKUP_TO',
    'S3_ENDPOINT',
    'S3_BUCKET',
  ]
  for (const name of [...names, 'SIGN_UP', 'OIDC_ALLOWED_DOMAINS', 'OIDC_REQUIRED_CLAIM'])
    for (const value of ['', ' '])
      t.equal(refusalOf({ ...production, [name]: value }), `${name} is empty: give it a value, or leave it out`)
})

t.test('Unknown, empty and repeated parameters of a Postgres URL are refused', async (t) => {
  const known = ['application_name', 'host', 'options', 'password', 'port']
  const tls = ['sslcert', 'sslkey', 'sslmode', 'sslnegotiation', 'sslrootcert', 'user']
  const url = 'postgres://ebs@db/ebs'
  for (const [query, parameter] of [
    ['ssmlode=verify-full', 'ssmlode'],
    ['sslMode=verify-full', 'sslMode'],
    ['ssl=true', 'ssl'],
    ['sslmode=', 'sslmode'],
    ['sslmode', 'sslmode'],
    ['sslmode=disable&sslmode=verify-full', 'sslmode'],
    ['sslmode=verify-full&tls=true', 'tls'],
    ['sslmode=verify-full&=x', ''],
  ])
    for (const name of ['DATABASE_URL', 'PULSE_DATABASE_URL'])
      t.equal(
        refusalOf({ DATABASE_URL: url, [name]: `${url}?${query}` }),
        `${name} has a parameter "${parameter}" that is unknown, empty or repeated; give each of these once, with a value: ${[...known, ...tls].join(', ')}`,
      )
  const all = `${url}?${[...known, ...tls].map((name) => `${name}=x`).join('&')}`
  t.equal(readConfig({ DATABASE_URL: all, PULSE_DATABASE_URL: all }).databaseUrl, all)
})

t.test('A quoted value is refused, and the error names the variable', async (t) => {
  const names = [...knownVariables()].filter((name) => !name.endsWith('_FILE') && !/_PROXY$/i.test(name))
  for (const name of names)
    for (const quoted of ['"x y"', "'x'", ' "" ', '“x”', '„x“', '«x»'])
      t.throws(
        () =>
          readConfig({
            ...production,
            SERVE_APP: '',
            S3_ENDPOINT: 'https://s3.example.org',
            S3_BUCKET: 'bucket',
            S3_ACCESS_KEY: 'a',
            S3_SECRET_KEY: 's',
            [name]: quoted,
          }),
        { message: new RegExp(`^${name} is in quotes`) },
        name,
      )
})

t.test('The configuration has the values that the variables state', async (t) => {
  t.match(readConfig({ HOST: '0.0.0.0', PORT: '8080' }), { publicUrl: 'http://0.0.0.0:8080' })
  t.match(readConfig({ ADMIN_HOST: '::', ADMIN_PORT: '9090' }), { adminHost: '::', adminPort: 9090 })
  t.match(readConfig({ HOST: '::1' }), { publicUrl: 'http://[::1]:3000' })
  t.match(readConfig({ HOST: 'localhost' }), { publicUrl: 'http://localhost:3000' })
  t.match(readConfig({ ...staging, PUBLIC_URL: 'https://sync.example.org/' }), {
    publicUrl: 'https://sync.example.org',
    secureCookies: true,
  })
  t.match(readConfig({ DATA_DIR: '/srv' }), { databaseUrl: 'sqlite:/srv/bookmarks.db', exportsDir: '/srv/exports' })
  t.match(readConfig({ DATA_DIR: '/srv', DATABASE_URL: 'sqlite:/db/x', EXPORTS_DIR: '/e' }), {
    databaseUrl: 'sqlite:/db/x',
    exportsDir: '/e',
  })
  t.match(readConfig(staging), {
    environment: 'staging',
    identityProvider: { issuer: 'https://id.example', scopes: 'openid profile email offline_access' },
  })
  t.equal(readConfig({ ...staging, OIDC_SCOPES: 'openid email' }).identityProvider?.scopes, 'openid email')
  const { secretKeys } = readConfig({ ...staging, SECRET_KEY: `${key(1)}, ${key(2)}` })
  t.same(
    secretKeys?.map(([byte]) => byte),
    [1, 2],
    'the keys of SECRET_KEY are kept in order',
  )
  t.equal(
    readConfig({ ...staging, NODE_ENV: 'development', OIDC_ISSUER: 'http://id' }).identityProvider?.clientId,
    'id',
  )
  for (const domain of ['sync.example.org', 'example.org', '.example.org']) {
    t.equal(readConfig({ ...production, COOKIE_DOMAIN: domain }).cookieDomain, domain, `COOKIE_DOMAIN=${domain}`)
  }
  t.match(readConfig({ MAX_USER_BYTES: '1', MAX_USER_RECORDS: '9007199254740991' }), {
    maxUserBytes: 1,
    maxUserRecords: Number.MAX_SAFE_INTEGER,
  })
  for (const level of ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']) {
    t.equal(readConfig({ LOG_LEVEL: level }).logLevel, level)
  }
})

t.test('PUBLIC_URL must be https in production, and name this machine in development', (t) => {
  const refusals = Object.fromEntries(
    [
      { ...production, PUBLIC_URL: '' },
      { ...production, PUBLIC_URL: 'http://sync.example.org' },
      { ...production, PUBLIC_URL: 'http://127.0.0.1:3000' },
      { ...production, NODE_ENV: '' },
      { ...production, NODE_ENV: 'development' },
      { PUBLIC_URL: 'https://127.0.0.1.example.org' },
      { PUBLIC_URL: 'https://192.168.0.1' },
    ].map((env: Env) => [`${env.NODE_ENV} ${env.PUBLIC_URL}`, refusalOf(env)]),
  )
  const insecure = 'PUBLIC_URL must be https if NODE_ENV is production'
  const exposed = 'PUBLIC_URL is public: set NODE_ENV to production (or staging), not development'
  t.same(refusals, {
    'production ': insecure,
    'production http://sync.example.org': insecure,
    'production http://127.0.0.1:3000': insecure,
    ' https://sync.example.org': exposed,
    'development https://sync.example.org': exposed,
    'undefined https://127.0.0.1.example.org': exposed,
    'undefined https://192.168.0.1': exposed,
  })
  const accepted = [
    'https://localhost:8443',
    'https://ebs.localhost',
    'https://127.0.0.2',
    'https://[::1]',
    'http://a.b',
  ]
  t.same(
    accepted.map((PUBLIC_URL) => readConfig({ PUBLIC_URL }).publicUrl),
    accepted,
  )
  t.end()
})

function refusalOf(env: Env): string {
  try {
    readConfig(env)
    return 'none'
  } catch (error) {
    return (error as ConfigError).message
  }
}

t.test('CORS_ORIGIN and APP_URL accept only exact origins, of web pages or extensions', async (t) => {
  const origins = [
    'https://app.example',
    'http://localhost:5173',
    'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
    'moz-extension://*',
  ]
  const config = readConfig({ CORS_ORIGIN: origins.join(' , '), APP_URL: 'https://web.example' })
  t.same([...config.origins], ['http://127.0.0.1:3000', 'https://web.example', exampleExtension, ...origins])
  t.equal(config.appUrl, 'https://web.example')
})

t.test('Lower-case proxy variables win; an invalid one stops the start, and its value is not shown', async (t) => {
  const read = (env: Env) => readConfig({ ...staging, PUBLIC_URL: 'https://sync.example.org', ...env }).identityProvider
  t.match(read({}), { proxies: { http: undefined, https: undefined, none: undefined } })
  t.match(
    read({ HTTPS_PROXY: 'http://a:3128', https_proxy: 'https://u:p%25@b', HTTP_PROXY: 'c:80', NO_PROXY: 'x,y' }),
    {
      proxies: { http: 'http://c/', https: 'https://u:p%25@b/', none: 'x,y' },
    },
  )
  for (const value of ['socks5://u:s3cret@a', 'http://', 'http://u:s3cret@a/path', 'ftp://a', 'u:s3cret%@a']) {
    for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy']) {
      t.throws(() => read({ [name]: value }), {
        name: 'ConfigError',
        message: new RegExp(`^${name} must (?!.*s3cret)`),
      })
    }
  }
})

t.test("Traces are exported if OpenTelemetry's standard variables say so", async (t) => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }
  const environments: Env[] = [
    {},
    endpoint,
    { OTEL_TRACES_EXPORTER: 'otlp' },
    { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
    { ...endpoint, OTEL_SDK_DISABLED: 'true' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317', OTEL_TRACES_EXPORTER: 'none' },
  ]
  t.same(
    environments.map((env) => readConfig(env).exportTraces),
    [false, true, true, false, false, false],
  )
})

t.test('TRUST_PROXY accepts a number of hops, or networks', async (t) => {
  const { trustProxy } = readConfig({ TRUST_PROXY: '2' })
  t.same(
    typeof trustProxy === 'function' && [0, 1, 2].map((hop) => trustProxy('192.0.2.1', hop)),
    [true, true, false],
    'the two nearest proxies are trusted',
  )
  t.same(readConfig({ TRUST_PROXY: '10.0.0.0/8, ::1' }).trustProxy, ['10.0.0.0/8', '::1'])
})

const faults: [variable: string, ...values: string[]][] = [
  ['NODE_ENV', 'test', 'Production'],
  ['HOST', 'two words', 'http://localhost'],
  ['PULSE_DATABASE_URL', 'mysql://db', 'postgres://for-sqlite', 'postgres:///db?host=a,b'],
  ['PULSE_URL', 'redis://host', 'nats://', 'nats://one,two', 'nats://host/path', 'nats://for-sqlite'],
  ['PORT', '-1', '65536', '3000.5', '1e3', '0x50', 'http'],
  ['ADMIN_PORT', '0', '65536', '9.5', 'none'],
  ['ADMIN_HOST', 'two words', 'http://localhost'],
  ['PUBLIC_URL', 'example.org', 'ftp://example.org', 'https://example.org/app', 'https://a@example.org', 'https://x?y'],
  ['DATABASE_URL', 'sqlite:', 'data/bookmarks.db', 'postgres', 'mysql://localhost', 'postgres://user:p#ss@host/db'],
  [
    'DATABASE_URL',
    'postgres://user:a,b@one:5432,two:5432/db?target_session_attrs=read-write',
    'postgres:///db?host=a,b',
  ],
  ['SECRET_KEY', 'short', key(1).slice(0, -2), `${key(1)},`, key(1).replace(/=$/, ''), 'A'.repeat(44)],
  ['OIDC_ISSUER', 'id.example', 'ftp://id.example', 'http://id.example', 'https://ebs:s3cret@id.example'],
  ['OIDC_CLIENT_ID', ''],
  ['OIDC_CLIENT_SECRET', ''],
  ['OIDC_SCOPES', 'profile email', 'openids'],
  [
    'OIDC_ALLOWED_DOMAINS',
    ',',
    'example.org,',
    '@example.org',
    '*.example.org',
    'a@example.org',
    'org',
    'example.org.',
  ],
  ['OIDC_ALLOWED_DOMAINS', 'example.org example.com', 'https://example.org', 'a..b'],
  ['OIDC_REQUIRED_CLAIM', 'groups', 'groups=', '=bookmarks', 'gro ups=bookmarks', 'groups= '],
  ['SIGN_UP', 'Closed', 'false', 'invited'],
  ['DEV_IDP_PORT', '70000', 'none'],
  ['CORS_ORIGIN', '*', 'null', 'app.example', 'https://app.example/', 'https://app.example/x', 'https://*.example'],
  [
    'CORS_ORIGIN',
    'https://APP.example',
    'https://a@b',
    'chrome-extension://*',
    'file:///x',
    'https://a.example;https://b.example',
  ],
  ['COOKIE_DOMAIN', 'example.com', 'xample.org', 'a.sync.example.org', 'example.org; Secure'],
  ['APP_URL', 'app.example', 'https://app.example/path', 'chrome-extension://x'],
  [
    'TRUST_PROXY',
    '-1',
    '1.5',
    '10/8',
    '010.0.0.1',
    'true',
    'loopback',
    '10.0.0.0/33',
    '10.0.0.0/0',
    '999.1.1.1',
    '::1/129',
    '10.0.0.1,,',
  ],
  ['MAX_USER_BYTES', '0', '-1', '1.5', '2GiB', '1e9', '9007199254740992'],
  ['MAX_USER_RECORDS', '0', '-1', '1.5', 'many', '9007199254740992'],
  ['MAX_USER_EXPORT_BYTES', '0', '-1', '1.5', '4GiB'],
  ['KEEP_VERSIONS_DAYS', '0', '3651', 'none'],
  ['RATE_LIMIT_PER_MINUTE', '0', '-5', '1.5', 'many'],
  ['LOG_LEVEL', 'loud', 'INFO'],
  ['LOG_ADDRESSES', 'some', 'Full'],
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector', 'collector:4318', '127.0.0.1:4318', 'grpc://collector:4317'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'collector:4318/v1/traces'],
]

t.test('The error about an invalid value names the variable', async (t) => {
  for (const [variable, ...values] of faults) {
    for (const value of values) {
      const env = { ...production, [variable]: value }
      const line = new RegExp(`^${variable}\\b`)
      t.throws(() => readConfig(env), { name: 'ConfigError', message: line }, `${variable}=${value}`)
    }
  }
})

t.test('OIDC_ALLOWED_DOMAINS is refused if OIDC_SCOPES does not ask for email addresses', async (t) => {
  const env = { ...production, OIDC_ALLOWED_DOMAINS: 'example.org', OIDC_SCOPES: 'openid profile' }
  t.equal(refusalOf(env), 'OIDC_SCOPES must include email with OIDC_ALLOWED_DOMAINS')
})

t.test('A password in PULSE_URL that cannot be percent-decoded is refused', async (t) => {
  const env = { ...production, DATABASE_URL: 'postgres://db/ebs' }
  const message = 'PULSE_URL must have the special characters of its password percent-encoded'
  t.equal(refusalOf({ ...env, PULSE_URL: 'nats://one,nats://ebs:100%@two' }), message)
  t.same(readConfig({ ...env, PULSE_URL: 'nats://ebs:100%25@two' }).natsUrls, ['nats://ebs:100%25@two'])
})

t.test('Outside development, the secret key, the provider and https are required', async (t) => {
  t.match(refusalOf({ ...staging, OIDC_ISSUER: 'http://id.example' }), /^OIDC_ISSUER must be https/)
  for (const environment of ['staging', 'production']) {
    for (const variable of ['SECRET_KEY', 'OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET']) {
      const env = { ...production, NODE_ENV: environment, [variable]: '' }
      t.throws(
        () => readConfig(env),
        { message: new RegExp(`^${variable} is required`) },
        `${variable} in ${environment}`,
      )
    }
  }
  t.throws(() => readConfig({ COOKIE_DOMAIN: 'example.org' }), new ConfigError('COOKIE_DOMAIN is for production only'))
})

t.test('A secret read from a file is the same as from its variable, without the line end', async (t) => {
  const dir = t.testdir({})
  const secrets = {
    SECRET_KEY: `${key(1)},${key(2)}`,
    DATABASE_URL: 'postgres://ebs:secret@db/ebs',
    PULSE_DATABASE_URL: 'postgres://ebs:secret@direct/ebs',
    PULSE_URL: 'nats://ebs:secret@one,tls://ebs:secret@two',
    OIDC_CLIENT_SECRET: 'secret',
    S3_ACCESS_KEY: 'access',
    S3_SECRET_KEY: 'secret',
  }
  const { SECRET_KEY: _, OIDC_CLIENT_SECRET: __, ...open } = production
  const env: Env = { ...open, S3_ENDPOINT: 'https://s3.example.org', S3_BUCKET: 'bucket' }
  const files: Env = {}
  for (const [name, value] of Object.entries(secrets)) {
    files[`${name}_FILE`] = join(dir, name)
    await writeFile(join(dir, name), `${value}\n`)
  }
  t.same(readConfig({ ...env, ...files }), readConfig({ ...env, ...secrets }))
  const fault = (more: Env) => refusalOf({ ...env, ...files, ...more })
  t.equal(fault({ SECRET_KEY: key(3) }), 'SECRET_KEY_FILE: SECRET_KEY is set, too; set only one of them')
  t.equal(
    fault({ DATABASE_URL_FILE: join(dir, 'none') }),
    `DATABASE_URL_FILE: ${join(dir, 'none')} cannot be read (ENOENT)`,
  )
  await writeFile(join(dir, 'other'), 'mysql:x')
  for (const [name, says] of [
    ['SECRET_KEY', 'must be 32 bytes in base64'],
    ['DATABASE_URL', 'must begin with sqlite: or postgres://'],
    ['PULSE_DATABASE_URL', 'must begin with postgres://'],
    ['PULSE_URL', 'must be nats:// or tls:// URLs, comma-separated'],
  ])
    t.equal(fault({ [`${name}_FILE`]: join(dir, 'other') }), `${name}_FILE ${says}`, 'named as it was set')
  await writeFile(join(dir, 'empty'), '\n')
  t.equal(fault({ S3_SECRET_KEY_FILE: join(dir, 'empty') }), `S3_SECRET_KEY_FILE: ${join(dir, 'empty')} is empty`)
})

t.test('The S3 variables must all be set together, and the endpoint must be https', async (t) => {
  const s3: Env = { S3_ENDPOINT: 'https://s3.example', S3_BUCKET: 'exports', S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 'b' }
  const values = { endpoint: 'https://s3.example', bucket: 'exports', accessKey: 'a', secretKey: 'b' }
  t.equal(readConfig({}).s3, undefined)
  t.strictSame(readConfig(s3).s3, { ...values, region: undefined, caFile: undefined })
  t.strictSame(readConfig({ ...s3, S3_ENDPOINT: 'https://s3.example:9000/' }).s3?.endpoint, 'https://s3.example:9000')
  t.match(readConfig({ ...s3, S3_REGION: 'eu-1', S3_CA_FILE: '/ca.pem' }).s3, { region: 'eu-1', caFile: '/ca.pem' })
  for (const variable of Object.keys(s3)) {
    const missing = new ConfigError(
      `${variable} is required with ${variable === 'S3_ENDPOINT' ? 'S3_BUCKET' : 'S3_ENDPOINT'}`,
    )
    t.throws(() => readConfig({ ...s3, [variable]: undefined }), missing)
  }
  for (const variable of ['S3_REGION', 'S3_CA_FILE']) {
    t.throws(() => readConfig({ [variable]: 'x' }), new ConfigError(`S3_ENDPOINT is required with ${variable}`))
  }
  for (const endpoint of ['http://s3.example', 's3.example', 'https://s3.example/bucket', 'https://a:b@s3.example']) {
    t.throws(() => readConfig({ ...s3, S3_ENDPOINT: endpoint }), {
      name: 'ConfigError',
      message: /^S3_ENDPOINT must be/,
    })
  }
  for (const bucket of ['x', 'Exports', 'a/b', '../a', 'a'.repeat(64)]) {
    t.throws(() => readConfig({ ...s3, S3_BUCKET: bucket }), { name: 'ConfigError', message: /^S3_BUCKET must be/ })
  }
})

t.test('Backups need SQLite, and a folder or a bucket', async (t) => {
  const s3 = { S3_ENDPOINT: 'https://s3.example', S3_BUCKET: 'exports', S3_ACCESS_KEY: 'a', S3_SECRET_KEY: 's' }
  const day = { everyMs: 86_400_000, keep: 7, inBucket: false, dir: 'data/backups' }
  t.same(readConfig({ BACKUP_EVERY: '1d' }).backup, day)
  t.same(readConfig({ BACKUP_EVERY: '90m', BACKUP_TO: '/b' }).backup, { ...day, everyMs: 5_400_000, dir: '/b' })
  t.same(readConfig({ ...s3, BACKUP_EVERY: '24h', BACKUP_TO: 's3' }).backup, {
    ...day,
    inBucket: true,
    dir: 'data/unsent-backup',
  })
  const faults: [Env, RegExp][] = [
    ...['1', '0h', '1.5d', '25d', 'daily'].map((BACKUP_EVERY): [Env, RegExp] => [
      { BACKUP_EVERY },
      /^BACKUP_EVERY must be a number of minutes, hours or days up to 24d, like 12h$/,
    ]),
    [{ BACKUP_EVERY: '1d', DATABASE_URL: 'postgres://a@b/c' }, /^BACKUP_EVERY is for SQLite; for Postgres, /],
    [{ BACKUP_KEEP: '0' }, /^BACKUP_KEEP must be/],
    [{ BACKUP_TO: 's3' }, /^BACKUP_TO is s3, so S3_ENDPOINT is required$/],
  ]
  for (const [env, message] of faults) t.throws(() => readConfig(env), { name: 'ConfigError', message })
})
