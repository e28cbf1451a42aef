import { readdir } from 'node:fs/promises'
import { sql } from 'kysely'
import t from 'tap'
import { quotas } from '../../generated/limits.ts'
import type { Database } from '../../src/service/db/engine/database.ts'
import { sealedColumns } from '../../src/service/db/tables/sealed.ts'
import { saveUser } from '../../src/service/db/tables/users.ts'
import { sealExportKey } from '../../src/service/seal/export-key.ts'
import { reseal } from '../../src/service/upkeep/reseal.ts'
import { openFile } from '../exports/fixture.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { runCommand } from '../support/command.ts'
import { isPostgres } from '../support/database-url.ts'
import { depth } from '../support/depth.ts'
import { createdExport, finishedExport } from '../support/exports.ts'
import { replaceKeyring } from '../support/keyrings.ts'
import { pick } from '../support/pick.ts'
import type { MockProvider } from '../support/providers.ts'
import { changeExportKey, newer, older, openRotation, readExportKey } from '../support/rotation.ts'
import { until } from '../support/until.ts'

const refreshPath = '/api/v1/auth/refresh'
const minuteMs = 60_000
const newThenOld = [newer, older].map((key) => Buffer.from(key, 'base64'))

t.test('After the four steps, the new key alone opens values that the old one sealed', async (t) => {
  const service = await openRotation(t)
  const before = await (await service.start(older)).user('bob')
  const cookie = { cookie: before.cookie }
  const bob: TestUser = {
    ...before,
    call: (method, path, it) => service.call(method, path, { ...it, headers: cookie }),
  }
  const ada = openBrowser(service.call)
  await ada.signIn('Ada')
  const madeUnder = await changeExportKey(bob)
  const { id } = await createdExport(bob)
  const key = await changeExportKey(bob)

  await service.start(`${older},${newer}`)
  await service.start(`${newer},${older}`)
  const early = await service.reseal(newer).result
  t.match([early.code, early.stdout], [1, 'resealed 0, already current 0, unreadable 4\n'], 'the old key is needed')
  const { code, stdout, stderr } = await service.reseal(`${newer},${older}`).result
  t.same([code, stderr], [0, ''])
  t.match(stdout, /^resealed 4, already current 0, unreadable 0\nNow remove the other keys [^\n]+\n$/)
  t.equal(await readExportKey(bob), key, 'the service that ran meanwhile keeps working')

  const last = await service.start(newer)
  t.equal(await readExportKey(bob), key)
  t.equal(await readExportKey(bob, id), madeUnder)
  const { status, raw } = await bob.call('GET', `/api/v1/exports/${id}`)
  t.equal(status, 200)
  t.equal(JSON.parse(await openFile(raw, Buffer.from(madeUnder, 'base64'))).bookmark_count, 0)
  t.match(await createdExport(bob), { status: 'completed' })
  last.setClock(Date.now() + minuteMs + 1000)
  t.equal((await ada.call('POST', refreshPath)).status, 200)
  t.equal(grants(service.mock), 1, 'the provider got its token')
  const again = await service.reseal(newer).result
  t.same([again.code, again.stdout], [0, 'resealed 0, already current 5, unreadable 0\n'])
})

/** The number of refresh requests to the provider. */
function grants({ requests }: MockProvider): number {
  return requests.filter(({ form }) => form.get('grant_type') === 'refresh_token').length
}

t.test('A value that no key opens is reported and kept, and does not stop the others', async (t) => {
  const service = await openRotation(t)
  const { context, user } = await service.start(older)
  const [ada, bob, eve] = [await user('ada'), await user('bob'), await user('eve')]
  const { db } = context.database
  const users = () => db.selectFrom('users').select(['id', 'export_key_sealed as sealed']).orderBy('id').execute()
  const replace = (id: string, export_key_sealed = '') =>
    db.updateTable('users').set({ export_key_sealed }).where('id', '=', id).execute()
  await replace(bob.userId, (await users()).find(({ id }) => id === ada.userId)?.sealed)
  await replace(eve.userId, 'damaged')
  const before = await users()

  const { code, stdout, stderr } = await service.reseal(`${newer},${older}`).result
  t.same([code, stdout], [1, 'resealed 1, already current 0, unreadable 2\n'])
  const lines = [bob, eve].map(({ userId }) => `users ${userId}: no key in SECRET_KEY opens it`)
  t.same(stderr.trim().split('\n'), lines.toSorted(), 'table and id, never the value')
  const changed = (await users()).filter(({ sealed }, index) => sealed !== before[index]?.sealed)
  t.same(pick(changed, 'id'), [ada.userId])
  t.match(await service.reseal(newer).result, { code: 1, stdout: 'resealed 0, already current 1, unreadable 2\n' })
})

t.test('A start logs that a key is missing in SECRET_KEY, and the service still runs', async (t) => {
  const service = await openRotation(t)
  const lines = ({ log }: { log: string[] }) => log.filter((line) => line.includes('SECRET_KEY'))
  const first = await service.start(older)
  t.same(lines(first), [], 'nothing is sealed yet')
  const bob = await first.user('bob')
  await createdExport(bob)
  const [line = '', ...more] = lines(await service.start(newer))
  t.same(more, [])
  t.match(JSON.parse(line), {
    level: 50,
    msg: /^SECRET_KEY: of 2 sealed values that were tried, 2 open under none of its keys\b/,
  })
  const { status } = await service.call('GET', '/api/v1/bookmarks', { headers: { cookie: bob.cookie } })
  t.equal(status, 200)
  t.same(lines(await service.start(`${newer},${older}`)), [])
})

t.test('Exports of a lost SECRET_KEY take no place from new ones, and make room for them', async (t) => {
  const service = await openRotation(t)
  const first = await service.start(older)
  const was = await first.user('ada')
  const headers = { 'idempotency-key': 'weekly' }
  const { body: weekly } = await was.call('POST', '/api/v1/exports', { headers })
  await finishedExport(was, weekly.id)
  for (let n = 1; n < quotas.exportsKept; n++) await createdExport(was)

  const app = await service.start(newer)
  const ada = app.as(was)
  const { body: again } = await ada.call('POST', '/api/v1/exports', { headers })
  t.not(again.id, weekly.id, 'a repeated request')
  await finishedExport(ada, again.id)
  t.equal((await ada.call('POST', '/api/v1/exports', { headers })).body.id, again.id)
  const stored = () => app.context.database.db.selectFrom('exports').select('id').execute()
  t.equal((await stored()).length, quotas.exportsKept, 'the oldest makes room')
  t.notOk((await stored()).some(({ id }) => id === weekly.id))
  for (let n = 1; n < quotas.exportsKept; n++) await createdExport(ada)
  t.equal((await ada.call('GET', '/api/v1/exports')).body.exports.length, quotas.exportsKept)
  t.equal((await ada.call('POST', '/api/v1/exports')).status, 429)
  t.equal((await stored()).length, quotas.exportsKept)
})

t.test('Once SECRET_KEY is lost, export keys count as never set; the rest is not found', async (t) => {
  const service = await openRotation(t)
  const first = await service.start(older)
  const people = [await first.user('ada'), await first.user('bob'), await first.user('eve')]
  const lost = await Promise.all(people.map(changeExportKey))
  const made = await createdExport(people[0] as TestUser)
  await replaceKeyring(people[0] as TestUser, 2)
  const { id: version } = await first.context.database.db
    .selectFrom('keyring_versions')
    .select('id')
    .executeTakeFirstOrThrow()

  const app = await service.start(newer)
  const [ada, bob, eve] = people.map(app.as) as [TestUser, TestUser, TestUser]
  const restored = await ada.call('POST', `/api/v1/account/keyring/versions/${version}/restore`)
  t.match([restored.status, restored.body], [404, { error: 'Keyring not found' }])
  t.same((await ada.call('GET', '/api/v1/account/keyring/versions')).body, { versions: [] })
  t.same((await ada.call('GET', '/api/v1/exports')).body, { exports: [] })
  for (const path of [`/api/v1/exports/${made.id}`, `/api/v1/account/export-key?export=${made.id}`])
    t.match(await ada.call('GET', path), { status: 404, body: { error: 'Export not found' } }, path)

  const generated = await readExportKey(ada)
  t.match(generated, /^[\w+/]{43}=$/)
  t.notOk(lost.includes(generated))
  t.equal(await readExportKey(ada), generated)
  const { id } = await createdExport(bob)
  const { raw } = await bob.call('GET', `/api/v1/exports/${id}`)
  t.equal(JSON.parse(await openFile(raw, Buffer.from(await readExportKey(bob, id), 'base64'))).bookmark_count, 0)
  app.setClock(Date.now() + 11 * minuteMs)
  for (const person of [ada, bob, eve]) t.ok(await changeExportKey(person), 'an old sign-in may set it')
  const old = await ada.call('PUT', '/api/v1/account/export-key', { body: { key: generated } })
  t.match([old.status, old.body], [403, { error: 'Sign in again' }], 'from then on, it is set')
  const logged = app.log.filter((line) => line.includes(`the export key of ${ada.userId} cannot be opened`))
  t.equal(logged.length, 1)
  t.notMatch(app.log.join(''), 'Internal server error')
})

t.test('A value that changes while it is resealed keeps the newer value', async (t) => {
  const service = await openRotation(t)
  const { context, user, setClock } = await service.start(`${older},${newer}`)
  const people = await Promise.all(['ada', 'bob', 'eve'].map(user))
  const browser = openBrowser(service.call)
  await browser.signIn('Ada')
  const later = (minutes: number) => Date.now() + minutes * (minuteMs + 1000)
  let writes = 0
  const { db, write } = context.database
  const keys: string[] = []
  const besides: Database['write'] = async (work) => {
    if (keys.length === 0) for (const person of people) keys.push(await changeExportKey(person))
    setClock(later(++writes))
    // The keys come first, then the provider's tokens.
    if (writes <= 2) t.equal((await browser.call('POST', refreshPath)).status, 200)
    return write(work)
  }
  t.same(await reseal({ db, write: besides }, newThenOld), { resealed: 5, current: 0, unreadable: [] })
  const { call, setClock: set } = await service.start(newer)
  set(later(writes + 1))
  t.equal((await browser.call('POST', refreshPath)).status, 200)
  t.equal(grants(service.mock), 3, 'the provider got its latest token')
  const read = ({ cookie }: TestUser) =>
    readExportKey({ call: (method, path) => call(method, path, { headers: { cookie } }) })
  t.same(await Promise.all(people.map(read)), keys)
})

t.test('An instance that still seals with the old key is reported', async (t) => {
  const { context, user } = await (await openRotation(t)).start(`${older},${newer}`)
  const ada = await user('ada')
  const { db, write } = context.database
  const besides: Database['write'] = async (work) => {
    const result = await write(work)
    await changeExportKey(ada)
    return result
  }
  const message = 'SECRET_KEY: an instance goes on sealing under another key than the first'
  await t.rejects(reseal({ db, write: besides }, newThenOld), { message })
})

t.test('Every column with sealed values is resealed', async (t) => {
  const { context } = await buildApp(t)
  const tables = await context.database.db.introspection.getTables()
  const sealed = tables.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`))
  t.same(
    sealed.filter((name) => name.endsWith('_sealed')).toSorted(),
    sealedColumns.map(({ table, column }) => `${table}.${column}`).toSorted(),
  )
})

const count = depth(500, 2_000)
const both = `${newer},${older}`

t.test(`after a kill -9 among ${count} values, another run reseals all of them`, async (t) => {
  const service = await openRotation(t)
  const { context } = await service.start(`${older},${newer}`)
  const { database, seal } = context
  const ids = Array.from({ length: count }, (_, index) => `user-${String(index).padStart(6, '0')}`)
  const profile = { issuer: 'http://test', email: '', name: '', avatar_url: '', email_verified: 0, created_at: 1 }
  await database.write(async (trx) => {
    for (const id of ids) {
      const export_key_sealed = sealExportKey(seal, id, id, new Uint8Array(32))
      await saveUser(trx, { id, subject: id, ...profile, export_key_sealed })
    }
  })
  const first = () =>
    database.db.selectFrom('users').select('export_key_sealed').where('id', '=', 'user-000000').executeTakeFirst()
  const keys = [newer, older]
  for (let isKilled = false; !isKilled; ) {
    const before = await first()
    const command = service.reseal(keys.join())
    await until(async () => (await first())?.export_key_sealed !== before?.export_key_sealed)
    command.kill('SIGKILL')
    const { signal, stdout } = await command.result
    // If the run ended before the signal, the next one reseals in the other direction.
    isKilled = signal === 'SIGKILL'
    if (isKilled) t.equal(stdout, '')
    else keys.reverse()
  }

  const { code, stdout } = await service.reseal(keys.join()).result
  t.equal(code, 0)
  const [resealed = 0, current = 0, unreadable] = (stdout.match(/\d+/g) ?? []).map(Number)
  t.ok(resealed > 0 && current > 0, stdout)
  t.same([resealed + current, unreadable], [count, 0])
  const alone = await service.reseal(`${keys[0]}`).result
  t.same([alone.code, alone.stdout], [0, `resealed 0, already current ${count}, unreadable 0\n`])
})

t.test('reseal refuses to run without keys, without a database, or on one of another version', async (t) => {
  const service = await openRotation(t)
  const { context } = await service.start(older)
  const { env } = service
  const nowhere = isPostgres ? 'postgres://ebs:hidden@127.0.0.1:1/bookmarks' : `sqlite:${env.DATA_DIR}/missing.db`
  const empty = isPostgres ? `${process.env.TEST_POSTGRES}/postgres` : `sqlite:${env.DATA_DIR}/empty.db`
  const refused = async (what: string, changes: Record<string, string>, line: RegExp) => {
    const { code, stdout, stderr } = await runCommand(t, 'reseal', [], { ...env, SECRET_KEY: both, ...changes })
    t.same([code, stdout], [1, ''], what)
    t.match(stderr, line)
    t.match(stderr, /^[^\n]+\n$/, 'one line')
    t.notMatch(stderr, /hidden/)
  }
  await refused('no keys', { SECRET_KEY: '' }, /^SECRET_KEY is required here/)
  await refused('no key', { SECRET_KEY: 'short' }, /^SECRET_KEY must be 32 bytes/)
  await refused('no database', { DATABASE_URL: nowhere }, /^DATABASE_URL: .*(cannot be opened|cannot be used)/)
  t.notOk((await readdir(env.DATA_DIR ?? '')).includes('missing.db'))
  if (isPostgres)
    await refused('an empty database', { DATABASE_URL: empty }, /^DATABASE_URL: .*does not belong to this service/)
  await sql`insert into applied_migrations values ('9999-later', 1, 0)`.execute(context.database.db)
  await refused('a newer version', {}, /^DATABASE_URL: the database has another version/)
})
