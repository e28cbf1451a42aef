import { spawnSync } from 'node:child_process'
import { mkdir, open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { pino } from 'pino'
import t from 'tap'
import { bundleFolder } from '../scripts/test/build.ts'
import { openLog } from '../src/service/log.ts'
import { buildApp } from './support/app.ts'
import { openBrowser } from './support/browser.ts'
import { change } from './support/changes.ts'
import { breakWrites } from './support/database.ts'
import { keyringOf } from './support/keyrings.ts'
import { buildWithMock } from './support/mock-service.ts'
import { folder } from './support/service.ts'

t.test('No secret, cookie, token, code, state, query or ciphertext appears in the logs', async (t) => {
  const { call, mock, log, context } = await buildWithMock(t, { LOG_LEVEL: 'trace' })
  const canaries = new Map<string, string>()
  const canary = (name: string) => {
    const value = `canary${name}${canaries.size}x`
    canaries.set(name, value)
    return value
  }
  const browser = openBrowser(call)
  await browser.signIn('Ada', `/back?${canary('ReturnTo')}=1`)
  for (const [name, value] of Object.entries(browser.cookies())) canaries.set(name, value)
  for (const token of mock.validRefreshTokens.keys()) canaries.set('provider token', token)
  for (const { form, authorization } of mock.requests) {
    for (const name of ['code', 'code_verifier']) if (form.get(name)) canaries.set(name, String(form.get(name)))
    if (authorization) canaries.set('client secret', authorization.split(' ').at(-1) ?? '')
  }

  const data = { encrypted_data: canary('Ciphertext'), data_hash: canary('Hash') }
  const requests = [
    ['POST', '/api/v1/bookmarks', { body: { id: 'b', ...data } }],
    ['POST', '/api/v1/sync/push', { body: { changes: [change({ entity_id: 'c', ...data })] } }],
    ['POST', '/api/v1/sync/push', { body: { changes: [{ ...data, broken: true }] } }],
    ['POST', '/api/v1/sync/import', { body: { bookmarks: [{ id: 'd', ...data }] } }],
    [
      'POST',
      '/api/v1/bookmarks',
      { payload: `{"encrypted_data":"${canary('Truncated')}`, headers: { 'content-type': 'application/json' } },
    ],
    ['GET', `/api/v1/bookmarks?limit=${canary('Query')}`, {}],
    ['GET', `/nope/${canary('Path')}?${canary('UnknownQuery')}`, {}],
    ['GET', `/api/v1/auth/callback?code=${canary('Code')}&state=${canary('State')}`, {}],
    [
      'GET',
      `/api/v1/auth/callback?code=${canary('Code2')}&state=${encodeURIComponent(`/back?${canaries.get('ReturnTo')}=1`)}`,
      {},
    ],
    ['GET', '/api/v1/auth/session', { headers: { cookie: `service_session=${canary('Garbage')}` } }],
    ['GET', '/api/v1/auth/session', { headers: { authorization: `Bearer ${canary('Authorization')}` } }],
    [
      'GET',
      '/api/v1/bookmarks?limit=0',
      { headers: { cookie: '', authorization: `Bearer ${canaries.get('service_session')}` } },
    ],
    ['PUT', '/api/v1/account/keyring', { body: { keyring: keyringOf(canary('Keyring')), revision: 1 } }],
    ['POST', '/api/v1/auth/login', { body: { returnTo: `/${canary('LoginReturnTo')}` } }],
    ['POST', '/api/v1/exports', {}],
    ['GET', `/%zz${canary('BadUrl')}`, {}],
  ] as const
  for (const [method, path, request] of requests) await browser.call(method, path, request)
  const key = (await browser.call('GET', '/api/v1/account/export-key')).body.key
  canaries.set('export key', key)
  const repair = breakWrites(context)
  t.equal((await browser.call('POST', '/api/v1/bookmarks', { body: data })).status, 503, 'an internal error is logged')
  repair()
  await browser.call('POST', '/api/v1/auth/refresh')
  await browser.call('POST', '/api/v1/auth/logout')

  const text = log.join('')
  t.ok(log.length > requests.length, `${log.length} lines`)
  t.match(text, /disk I\/O error/, 'with its cause')
  for (const [name, value] of canaries) {
    t.notOk(text.includes(value), `${name} is not logged`)
    t.notOk(text.includes(encodeURIComponent(value)), `${name} is not logged in its encoded form`)
  }
})

t.test("Each log line has its level in the form of systemd's journal, if the journal receives it", async (t) => {
  const at = await folder(t)
  const lines = async (name: string, isJournal: boolean) => {
    await using file = await open(join(at, name), 'w')
    const { dev, ino } = await file.stat({ bigint: true })
    process.env.JOURNAL_STREAM = isJournal ? `${dev}:${ino}` : `${dev}:1`
    const log = openLog('trace', pino.destination({ dest: file.fd, sync: true }), file.fd)
    for (const level of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) log[level](level)
    return (await readFile(join(at, name), 'utf8')).trim().split('\n')
  }
  t.teardown(() => delete process.env.JOURNAL_STREAM)
  const levelled = await lines('journal', true)
  t.same(
    levelled.map((line) => line.slice(0, 3)),
    ['<7>', '<7>', '<6>', '<4>', '<3>', '<2>'],
  )
  t.match(JSON.parse(levelled[4]?.slice(3) ?? ''), { level: 50, msg: 'error' })
  await mkdir(join(at, 'another'))
  for (const line of await lines('another/file', false)) t.equal(JSON.parse(line).pid, process.pid)
})

t.test('The message of a refused start has its level, too, although the log is not open yet', async (t) => {
  const script = 'JOURNAL_STREAM=$(stat -Lc %d:%i /proc/$$/fd/2) exec "$0" "$1" serve'
  const { stderr } = spawnSync(
    'sh',
    ['-c', script, process.execPath, fileURLToPath(new URL('ebs.mjs', bundleFolder))],
    {
      env: {
        NODE_ENV: 'production',
        PUBLIC_URL: 'https://sync.example.org',
        PATH: process.env.PATH,
        DATA_DIR: await folder(t),
      },
      encoding: 'utf8',
    },
  )
  t.match(stderr, /^<2>\{"level":60,.*SECRET_KEY is required/)
})

t.test("As LOG_ADDRESSES says, a request is logged with the caller's network, address, or neither", async (t) => {
  const callers = ['203.0.113.77', '::ffff:203.0.113.77', '2001:db8:1:2:3:4:5:6', 'fe80::1%eth0']
  const logged = async (env: Record<string, string>) => {
    const { call, log, close } = await buildApp(t, env)
    for (const from of callers) await call('GET', '/api/v1/health', { from })
    await close()
    const lines = log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
    return lines.map(({ address }) => address)
  }
  t.same(await logged({}), ['203.0.113.0/24', '203.0.113.0/24', '2001:db8:1:2::/64', 'fe80::/64'])
  const full = ['203.0.113.77', '203.0.113.77', '2001:db8:1:2:3:4:5:6', 'fe80::1']
  t.same(await logged({ LOG_ADDRESSES: 'full' }), full, 'IPv4 within IPv6 becomes IPv4, and a zone is cut')
  t.same(await logged({ LOG_ADDRESSES: 'none' }), [undefined, undefined, undefined, undefined])
})

t.test('A probe is logged only if its answer is an error', async (t) => {
  const { call, log, context } = await buildApp(t)
  const routes = () =>
    log.map((line) => JSON.parse(line)).flatMap(({ msg, route }) => (msg === 'request' ? [route] : []))
  for (const path of ['/livez', '/readyz', '/api/v1/health']) await call('GET', path)
  t.same(routes(), ['/api/v1/health'])
  context.health.drain()
  await call('GET', '/readyz')
  t.same(routes(), ['/api/v1/health', '/readyz'])
})

t.test('An error is logged without the data that a database adds to it', async (t) => {
  const { context, log } = await buildApp(t)
  const secret = 'secret-of-a-row'
  const { db } = context.database
  const insert = () => sql`insert into used_nonces (nonce, expires_at) values (${secret}, 1)`.execute(db)
  await insert()
  const err = await insert().catch((error: unknown) => error)
  const several = new AggregateError([err, Object.assign(new Error('second'), { code: 'E2', secret })], 'both')
  for (const logged of [err, new Error('outer', { cause: err }), several]) context.log.error({ err: logged }, 'failed')
  const lines = log.filter((line) => line.includes('"failed"')).map((line) => JSON.parse(line))
  t.equal(lines.length, 3)
  t.match(lines[0].err, {
    type: /Error$/,
    message: /used_nonces/,
    stack: /used_nonces/,
    code: /^(23505|SQLITE_CONSTRAINT)/,
  })
  t.match(lines[1].err.message, /^outer: .*used_nonces/)
  t.match(lines[2].err.aggregateErrors, [{ message: /used_nonces/ }, { message: 'second', code: 'E2' }])
  t.notMatch(log.join(''), /secret-of-a-row/, 'neither the row nor another field of the error is logged')
})
