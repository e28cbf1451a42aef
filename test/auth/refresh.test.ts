import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { InvalidGrantError, ProviderUnavailableError } from '../../src/service/provider/provider.ts'
import { openDevice } from '../realtime/device.ts'
import { openBrowser } from '../support/browser.ts'
import { setCookies } from '../support/cookies.ts'
import { isWaitingForLock } from '../support/database.ts'
import { isPostgres } from '../support/database-url.ts'
import { onSqlite } from '../support/depth.ts'
import { holdIntervals } from '../support/intervals.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { pick } from '../support/pick.ts'
import type { MockProvider } from '../support/providers.ts'
import { open } from '../support/relying-party.ts'
import { until } from '../support/until.ts'

const refresh = '/api/v1/auth/refresh'
const session = '/api/v1/auth/session'
const minute = 60_000
const day = 86_400_000

holdIntervals(t)
const common = await buildWithMock(t)
const origin = common.listen()

/** A browser that signed in over a minute ago, so that the next refresh asks the provider. */
async function signedInLongAgo(t: Test, service = common) {
  const { context, mock, setClock } = service
  const { refresh } = context.provider
  t.teardown(() => {
    setClock(undefined)
    mock.faults.clear()
    mock.loses.clear()
    Object.assign(context.provider, { refresh })
  })
  const browser = openBrowser(service.call)
  await browser.signIn('Ada')
  mock.requests.length = 0
  let now = Date.now()
  const wait = (ms: number) => {
    now += ms
    service.setClock(now)
  }
  wait(minute + 1000)
  const asked = () => service.mock.requests.filter(({ form }) => form.get('grant_type') === 'refresh_token').length
  const withSession = (value: string) =>
    service.call('GET', session, { headers: { cookie: `service_session=${value}` } })
  return { ...service, browser, wait, asked, withSession }
}

t.test('20 parallel refreshes of one login all succeed with a provider that rotates its refresh tokens', async (t) => {
  const { browser, asked, withSession, wait } = await signedInLongAgo(t)
  const answers = await Promise.all(Array.from({ length: 20 }, () => browser.call('POST', refresh)))
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.equal(asked(), 1, 'one of them asks the provider')
  const tokens = answers.map((answer) => setCookies(answer)[0]?.value ?? '')
  t.equal(new Set(tokens).size, 20)
  for (const token of tokens) t.equal((await withSession(token)).status, 200)
  wait(minute + 1000)
  t.equal((await browser.call('POST', refresh)).status, 200, 'the rotated token works the next time')
  t.equal(asked(), 2)
})

t.test('A refresh keeps the refresh cookie, and older session tokens stay valid for 60 s', async (t) => {
  const { browser, call, withSession, wait } = await signedInLongAgo(t)
  const elsewhere = openBrowser(call)
  await elsewhere.signIn('Ada')
  const before = browser.cookies()
  const answer = await browser.call('POST', refresh)
  t.same(pick(setCookies(answer), 'name'), ['service_session'])
  t.equal(browser.cookies().service_refresh, before.service_refresh)
  const old = before.service_session ?? ''
  t.equal((await withSession(old)).status, 200, 'at once')
  wait(minute - 1000)
  t.equal((await withSession(old)).status, 200, 'after 59 s')
  wait(2000)
  t.equal((await withSession(old)).status, 401, 'after 61 s')
  t.equal((await withSession(browser.cookies().service_session ?? '')).status, 200, 'the new token stays valid')
  t.equal((await elsewhere.call('GET', session)).status, 200, 'tokens of other logins stay valid')
})

t.test('A refresh keeps the session token of a tab that refreshed in the minute before', async (t) => {
  const { browser, withSession, wait } = await signedInLongAgo(t)
  await browser.call('POST', refresh)
  const { service_session: first = '' } = browser.cookies()
  wait(minute - 1000)
  await browser.call('POST', refresh)
  wait(minute + 1000)
  t.equal((await withSession(first)).status, 200)
})

t.test('A provider that accepts refreshes is asked at most once a minute for a login', async (t) => {
  const { browser, asked, wait } = await signedInLongAgo(t)
  for (const [ms, expected] of [
    [0, 1],
    [minute - 1000, 1],
    [2000, 2],
  ] as const) {
    wait(ms)
    t.equal((await browser.call('POST', refresh)).status, 200)
    t.equal(asked(), expected)
  }
})

t.test('invalid_grant ends the login with 401', async (t) => {
  const { browser, mock, withSession } = await signedInLongAgo(t)
  const { service_session: old = '' } = browser.cookies()
  const { user_id: userId } = (await withSession(old)).body.user
  const socket = await openDevice(t, await origin, { userId, cookie: `service_session=${old}` })
  mock.validRefreshTokens.clear()
  const answer = await browser.call('POST', refresh)
  t.same([answer.status, answer.body], [401, { error: 'Failed to refresh token' }])
  t.same(setCookies(answer), [], 'the answer clears no cookie, because another tab may have new ones')
  t.equal((await withSession(old)).status, 401, 'its sessions have ended, too')
  t.equal(await socket.closeCode, 4401, 'its sockets are closed before the next sweep')
})

for (const error of ['invalid_request', 'access_denied', 'invalid_token', 'expired_token', 'login_required']) {
  onSqlite(t, `${error} ends the login as invalid_grant does`, async (t) => {
    const { browser, mock, withSession } = await signedInLongAgo(t)
    mock.tokenErrors = [error]
    t.equal((await browser.call('POST', refresh)).status, 401)
    t.equal((await withSession(browser.cookies().service_session ?? '')).status, 401)
  })
}

const refusals: Record<string, (mock: MockProvider) => void> = {
  'a secret that the operator has replaced at the provider': (mock) => {
    mock.acceptsSecret = () => false
  },
  'a client that may not refresh': (mock) => {
    mock.tokenErrors = Array(9).fill('unauthorized_client')
  },
  'an unknown error': (mock) => {
    mock.tokenErrors = Array(9).fill('E4711')
  },
  'a token endpoint that is gone': (mock) => {
    mock.faults.set('token', 'missing')
  },
}
for (const [name, refuse] of Object.entries(refusals)) {
  onSqlite(t, `The provider refuses every refresh for ${name}: the login ends after a day`, async (t) => {
    const { browser, mock, wait, withSession } = await signedInLongAgo(t)
    const stop = () => {
      mock.acceptsSecret = () => true
      mock.tokenErrors = []
      mock.faults.clear()
    }
    t.teardown(stop)
    const status = async () => (await browser.call('POST', refresh)).status
    const alive = async () => (await withSession(browser.cookies().service_session ?? '')).status
    wait(3 * day)
    t.same([await status(), await alive()], [200, 200], 'the login works although it was refreshed days ago')
    wait(minute + 1000)
    refuse(mock)
    t.same([await status(), await alive()], [503, 200], 'the operator may correct it')
    wait(day - minute)
    t.same([await status(), await alive()], [503, 200])
    wait(minute)
    t.equal(await alive(), 401, 'the session ends after a day')
    stop()
    t.same([await status(), await alive()], [200, 200], 'a successful refresh cancels the end')
    wait(minute + 1000)
    refuse(mock)
    t.equal(await status(), 503)
    wait(day)
    t.equal(await status(), 401, 'after a day the login has ended')
    stop()
    t.equal(await status(), 401)
  })
}

const passing: Record<string, (mock: MockProvider) => void> = {
  'an error 500': (mock) => mock.faults.set('token', 'error'),
  'a rate limit': (mock) => mock.faults.set('token', 'busy'),
  server_error: (mock) => {
    mock.tokenErrors = ['server_error']
  },
  temporarily_unavailable: (mock) => {
    mock.tokenErrors = ['temporarily_unavailable']
  },
  'a lost response': (mock) => mock.loses.add('token'),
}
for (const [name, disturb] of Object.entries(passing)) {
  onSqlite(t, `A refresh that meets ${name} for days ends nothing`, async (t) => {
    const { browser, mock, wait, withSession } = await signedInLongAgo(t)
    mock.refreshTokens = 'kept'
    t.teardown(() => Object.assign(mock, { refreshTokens: 'rotating', tokenErrors: [] }))
    for (let hours = 0; hours < 96; hours += 12) {
      disturb(mock)
      t.equal((await browser.call('POST', refresh)).status, 503)
      wait(day / 2)
    }
    t.equal((await withSession(browser.cookies().service_session ?? '')).status, 200)
    mock.loses.clear()
    mock.faults.clear()
    t.equal((await browser.call('POST', refresh)).status, 200)
  })
}

for (const [status, fault] of [
  [500, 'error'],
  [429, 'busy'],
] as const) {
  onSqlite(t, `After a ${status} of the provider, invalid_grant still ends the login`, async (t) => {
    const { browser, mock } = await signedInLongAgo(t)
    mock.faults.set('token', fault)
    t.equal((await browser.call('POST', refresh)).status, 503)
    mock.faults.clear()
    mock.validRefreshTokens.clear()
    t.equal((await browser.call('POST', refresh)).status, 401, 'the login has ended at the provider and here')
  })
}

onSqlite(t, 'After an unreachable provider, invalid_grant ends the login: the token was not rotated', async (t) => {
  const { browser, context, mock } = await signedInLongAgo(t)
  const { refresh: ask } = context.provider
  const nowhere = open(t, 'http://127.0.0.1:9')
  context.provider.refresh = nowhere.refresh
  t.equal((await browser.call('POST', refresh)).status, 503)
  context.provider.refresh = ask
  mock.validRefreshTokens.clear()
  t.equal((await browser.call('POST', refresh)).status, 401)
})

const losses: Record<string, (mock: MockProvider) => void> = {
  'A lost response': (mock) => mock.loses.add('token'),
  'An invalid response': (mock) => mock.faults.set('token', 'html'),
}
for (const [name, lose] of Object.entries(losses)) {
  onSqlite(t, `${name}, an error and then invalid_grant: the login lasts one more day`, async (t) => {
    const { browser, call, mock, wait, asked, withSession } = await signedInLongAgo(t)
    const elsewhere = openBrowser(call)
    await elsewhere.signIn('Ada')
    lose(mock)
    t.equal((await browser.call('POST', refresh)).status, 503)
    mock.loses.clear()
    mock.faults.set('token', 'error')
    t.equal((await browser.call('POST', refresh)).status, 503)
    mock.faults.clear()
    mock.validRefreshTokens.clear()
    t.equal((await browser.call('POST', refresh)).status, 200, 'the login goes on')
    const before = asked()
    wait(day - minute)
    t.equal((await browser.call('POST', refresh)).status, 200)
    t.equal(asked(), before, 'the provider is not asked again')
    const last = browser.cookies().service_session ?? ''
    t.equal((await withSession(last)).status, 200)
    wait(minute)
    t.equal((await withSession(last)).status, 401, 'after a day it has ended, even with a new session')
    t.equal((await browser.call('POST', refresh)).status, 401)
    t.equal((await elsewhere.call('GET', session)).status, 200, 'another login of the user goes on')
  })
}

t.test('With a provider token that SECRET_KEY cannot decrypt, the login lasts one more day', async (t) => {
  const { browser, context, wait, asked } = await signedInLongAgo(t)
  await context.database.db.updateTable('logins').set({ provider_token_sealed: 'sealed under a lost key' }).execute()
  t.equal((await browser.call('POST', refresh)).status, 200)
  wait(day - minute)
  t.equal((await browser.call('POST', refresh)).status, 200)
  t.equal(asked(), 0, 'the provider is not asked')
  wait(minute)
  t.equal((await browser.call('POST', refresh)).status, 401)
})

t.test('Whatever the provider answers changes no other login of the user, and none of another user', async (t) => {
  const { browser, call, context, mock, user, wait } = await signedInLongAgo(t)
  await openBrowser(call).signIn('Ada')
  await user('bob')
  const { db } = context.database
  const rows = () => db.selectFrom('logins').selectAll().orderBy('id').execute()
  const refreshed = async (status: number) => {
    const before = new Set((await rows()).map((row) => JSON.stringify(row)))
    t.equal((await browser.call('POST', refresh)).status, status)
    const changed = (await rows()).filter((row) => !before.has(JSON.stringify(row)))
    t.equal(changed.length, 1)
    return changed[0]?.id ?? ''
  }
  const id = await refreshed(200)
  wait(minute + 1000)
  mock.tokenErrors = Array(9).fill('E4711')
  t.equal(await refreshed(503), id)
  mock.tokenErrors = []
  await db
    .updateTable('logins')
    .set({ provider_token_sealed: 'sealed under a lost key' })
    .where('id', '=', id)
    .execute()
  t.equal(await refreshed(200), id)
})

t.test('A login that ends during the request to the provider gets no token', async (t) => {
  const { browser, context } = await signedInLongAgo(t)
  const { refresh: ask } = context.provider
  context.provider.refresh = async (...args) => {
    await browser.call('POST', '/api/v1/auth/logout', { headers: { cookie: cookieHeader } })
    return ask(...args).catch(() => ({ refreshToken: null }))
  }
  const cookieHeader = Object.entries(browser.cookies())
    .map((pair) => pair.join('='))
    .join('; ')
  const answer = await browser.call('POST', refresh)
  t.same([answer.status, answer.body], [401, { error: 'Failed to refresh token' }])
})

t.test('After a logout, the provider revokes its token', async (t) => {
  const { browser, mock } = await signedInLongAgo(t, await buildWithMock(t))
  await browser.call('POST', '/api/v1/auth/logout')
  await until(() => mock.requests.some(({ endpoint }) => endpoint === 'revoke'))
})

t.test('Times written while the clock was 40 days ahead do not stop refreshes', async (t) => {
  const { browser, context, asked } = await signedInLongAgo(t)
  const later = Date.now() + 40 * day
  for (const wrong of [{ checked_at: later }, { asking_until: later }]) {
    const before = asked()
    await context.database.db
      .updateTable('logins')
      .set({ checked_at: 0, asking_until: 0, ...wrong })
      .execute()
    t.equal((await browser.call('POST', refresh)).status, 200)
    t.equal(asked(), before + 1, Object.keys(wrong).join())
  }
})

t.test('Without a refresh token from the provider, the provider is not asked', async (t) => {
  const service = await buildWithMock(t, {}, (mock) => {
    mock.refreshTokens = 'none'
  })
  const browser = openBrowser(service.call)
  await browser.signIn('Ada')
  service.context.provider.refresh = async () => {
    throw new InvalidGrantError('must not be asked')
  }
  service.setClock(Date.now() + 2 * minute)
  t.equal((await browser.call('POST', refresh)).status, 200)
})

const [minuteMs, hour] = [60_000, 3_600_000]

/** A refresh at this time whose request to the provider waits until it is released. */
async function askingAt(t: Test, time: number) {
  const service = await buildWithMock(t)
  const browser = openBrowser(service.call)
  await browser.signIn('Ada')
  const { provider } = service.context
  const { refresh: ask } = provider
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let asked = 0
  provider.refresh = async (...args) => {
    asked += 1
    if (asked > 1) return ask(...args)
    reached.resolve()
    await released.promise
    throw new ProviderUnavailableError('it never answered')
  }
  service.setClock(time)
  const first = browser.call('POST', refresh)
  await reached.promise
  return {
    ...service,
    browser,
    asked: () => asked,
    async release() {
      released.resolve()
      await first
    },
  }
}

if (isPostgres)
  t.test("A refresh that has waited for another instance's lease does not ask the provider", async (t) => {
    const { browser, context, asked } = await signedInLongAgo(t)
    const { db, now } = context.database
    const waited = await db.transaction().execute(async (trx) => {
      await trx.selectFrom('logins').select('id').forUpdate().execute()
      const refreshing = browser.call('POST', refresh)
      await until(() => isWaitingForLock(db))
      await trx
        .updateTable('logins')
        .set({ asking_until: sql`${now} + 30000`, unanswered: 1 })
        .execute()
      return { refreshing }
    })
    t.equal((await waited.refreshing).status, 200)
    t.equal(asked(), 0)
    await db.updateTable('logins').set({ asking_until: 0, unanswered: 0 }).execute()
  })

t.test('The lease of an instance that died with its clock an hour ahead holds off the others for 30 s', async (t) => {
  const before = Date.now()
  const { browser, context, setClock, asked, release } = await askingAt(t, before + hour)
  setClock(Date.now() + 2 * minuteMs)
  const { db, now } = context.database
  const { asking_until } = await db.selectFrom('logins').select('asking_until').executeTakeFirstOrThrow()
  t.ok(asking_until >= before + 30_000 && asking_until <= Date.now() + 30_000, "the lease uses the database's clock")
  await browser.call('POST', refresh)
  t.equal(asked(), 1, 'not before the lease ends')
  await db.updateTable('logins').set({ asking_until: now }).execute()
  t.equal((await browser.call('POST', refresh)).status, 200)
  t.equal(asked(), 2, 'then another asks')
  await release()
})

t.test('A refresh gets no token of a login that is over while another request asks the provider', async (t) => {
  const { browser, context, asked, release } = await askingAt(t, Date.now() + 2 * minuteMs)
  await context.database.db.updateTable('logins').set({ ends_at: 1 }).execute()
  t.equal((await browser.call('POST', refresh)).status, 503)
  t.equal(asked(), 1)
  await release()
})
