import t from 'tap'
import { quotas } from '../../generated/limits.ts'
import { type OperationId, operations } from '../../generated/operations.ts'
import { allOperations, furnish, type Ids } from '../hostile/requests.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { openBrowser } from '../support/browser.ts'
import { snapshot } from '../support/database.ts'
import { isPostgres } from '../support/database-url.ts'
import { buildWithMock } from '../support/mock-service.ts'

const app = await buildApp(t)
/** Another instance of the service, where there can be one. */
const there = isPostgres ? await buildApp(t, {}, { dataDir: app.dataDir }) : app
const { context } = app
const tooOld = [403, { error: 'Sign in again' }]
const dayMs = 86_400_000

/** The sign-ins of before are no longer young. */
function growOld(by = quotas.youngLoginSeconds * 1000): void {
  for (const one of new Set([app, there])) one.setClock(Date.now() + by + 1000)
}

t.afterEach(() => {
  for (const one of new Set([app, there])) one.setClock(undefined)
})

/** Operations that erase come after those that restore. */
const last: OperationId[] = ['eraseKeyringVersions', 'deleteAccount']
const classed = Object.entries(operations)
  .flatMap(([operationId, { youngLogin }]) => (youngLogin === 'never' ? [] : [operationId as OperationId]))
  .sort((one, other) => last.indexOf(one) - last.indexOf(other))

async function ask(user: TestUser, operationId: OperationId, ids: Ids) {
  const found = allOperations(ids).find((one) => one.operationId === operationId)
  const { method = '', path = '', body } = found ?? {}
  const { status, body: answer } = await user.call(method, path, body === undefined ? {} : { body })
  return [status, answer]
}

t.test('From an old login, nothing is done that cannot be undone; from a young one, it is', async (t) => {
  const [ada, fresh] = [await app.user('ada'), () => app.user('ada')]
  const ids = await furnish(ada, 'ada')
  await app.user('ada')
  const key = Buffer.alloc(32, 7).toString('base64')
  t.equal((await ada.call('PUT', '/api/v1/account/export-key', { body: { key } })).status, 200)
  growOld()
  const before = await snapshot(context)
  // Purges of an old login are counted: see below.
  for (const operationId of classed.filter((it) => it !== 'purgeBookmark')) {
    t.same(await ask(ada, operationId, ids), tooOld, operationId)
    t.equal(await snapshot(context), before, `${operationId} changed nothing`)
  }
  for (const operationId of classed.filter((it) => it !== 'purgeBookmark')) {
    const [status] = await ask(await fresh(), operationId, ids)
    t.equal(status, 200, operationId)
  }
})

t.test('A login that was made with the clock ahead is not young until then', async (t) => {
  for (const one of new Set([app, there])) one.setClock(Date.now() + dayMs)
  const cleo = await app.user('cleo')
  const ids = await furnish(cleo, 'cleo')
  for (const one of new Set([app, there])) one.setClock(undefined)
  t.same(await ask(cleo, 'endOtherSessions', ids), tooOld)
})

t.test('What a session with a valid cookie asks for comes after origin, session, size and body', async (t) => {
  const bob = await app.user('bob')
  const path = '/api/v1/account/keyring'
  await furnish(bob, 'bob')
  growOld()
  const put = async (options: Parameters<TestUser['call']>[2]) => (await bob.call('PUT', path, options)).status
  t.equal(await put({ headers: { origin: 'https://evil.example' }, body: { keyring: 'x', revision: 2 } }), 403)
  t.equal((await app.call('PUT', path, { body: { keyring: 'x', revision: 2 } })).status, 401)
  t.equal(await put({ payload: '{}', headers: { 'content-type': 'text/plain' } }), 415)
  t.equal(await put({ body: { keyring: 'x'.repeat(1_100_000), revision: 2 } }), 413)
  const { status, body } = await bob.call('PUT', path, { body: { keyring: '', revision: 2 } })
  t.same([status, body], [400, { error: 'Invalid request body' }])
})

t.test('The first keyring and the first export key may be stored late; the same key may be set again', async (t) => {
  const eve = await app.user('eve')
  growOld()
  const put = async (path: string, body: object) => {
    const answer = await eve.call('PUT', `/api/v1/account/${path}`, { body })
    return [answer.status, answer.body]
  }
  const key = (fill: number) => ({ key: Buffer.alloc(32, fill).toString('base64') })
  const { keyring } = (await furnished()).body
  t.same(await put('keyring', { keyring, revision: 1 }), [200, { keyring, revision: 1 }])
  t.same(await put('keyring', { keyring, revision: 1 }), [409, { error: 'Keyring was changed' }])
  t.same(await put('export-key', key(1)), [200, { success: true }])
  t.same(await put('export-key', key(1)), [200, { success: true }])
  t.same(await put('export-key', key(2)), tooOld)
  t.same((await eve.call('GET', '/api/v1/account/export-key')).body, key(1))
})

async function furnished() {
  const other = await app.user('somebody with a keyring')
  await furnish(other, 'other')
  return other.call('GET', '/api/v1/account/keyring')
}

t.test('An export key from before it was known who had set it counts as the user’s', async (t) => {
  const old = await app.user('old')
  await context.database.write(async (trx) => {
    await trx.updateTable('users').set({ export_key_set_at: null }).where('id', '=', old.userId).execute()
  })
  growOld()
  const body = { key: Buffer.alloc(32, 1).toString('base64') }
  const answer = await old.call('PUT', '/api/v1/account/export-key', { body })
  t.same([answer.status, answer.body], tooOld)
})

async function deleted(user: TestUser, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, n) => `gone-${n}`)
  const content = { encrypted_data: 'x', data_hash: 'h' }
  const body = { bookmarks: ids.map((id) => ({ id, ...content })) }
  t.equal((await user.call('POST', '/api/v1/sync/import', { body })).body.imported, count)
  for (const id of ids) await user.call('DELETE', `/api/v1/bookmarks/${id}`)
  return ids
}

const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status).sort()
const most = quotas.purgesOfOldLogin

t.test(
  'An old login erases 20 deleted bookmarks a day, however many at once, on all instances; a young one all',
  async (t) => {
    const [mia, other] = [await app.user('mia'), await app.user('mia')]
    const ids = await deleted(mia, most + 10)
    const purge = (by: TestUser, id: string, at: TestApp = app) => at.as(by).call('DELETE', `/api/v1/trash/${id}`)
    growOld()
    const answers = await Promise.all(ids.map((id, n) => purge(mia, id, n % 2 === 0 ? app : there)))
    t.same(statusesOf(answers), [...Array(most).fill(200), ...Array(10).fill(403)])
    t.equal((await mia.call('GET', '/api/v1/trash?limit=1000')).body.bookmarks.length, 10)
    const left = ids.filter((_, n) => answers[n]?.status === 403)
    const { status, body } = await purge(mia, left[0] ?? '')
    t.same([status, body], tooOld)
    t.equal((await purge(other, left[0] ?? '')).status, 200, 'each login has its own')
    growOld(dayMs + quotas.youngLoginSeconds * 1000)
    t.equal((await purge(mia, left[1] ?? '')).status, 200, 'and has them again the next day')
    for (const one of new Set([app, there])) one.setClock(undefined)
    const young = await app.user('mia')
    t.same(statusesOf(await Promise.all(left.map((id) => purge(young, id)))), Array(10).fill(200))
  },
)

t.test('A sign-in for which the provider asked nothing is as old as its last question', async (t) => {
  const { call, mock } = await buildWithMock(t)
  const deletion = async (secondsAgo: number | undefined) => {
    mock.alter.idToken = (claims) => {
      claims.auth_time = secondsAgo === undefined ? undefined : Number(claims.iat) - secondsAgo
    }
    const browser = openBrowser(call)
    await browser.signIn('Ada')
    return (await browser.call('DELETE', '/api/v1/account')).status
  }
  t.equal(await deletion(quotas.youngLoginSeconds + 60), 403, 'asked long ago')
  t.equal(await deletion(quotas.youngLoginSeconds - 60), 200, 'asked some minutes ago')
  t.equal(await deletion(-3600), 200, 'a clock that is wrong makes nobody older')
  t.equal(await deletion(undefined), 200, 'a provider that does not say')
})
