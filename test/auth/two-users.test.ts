import t from 'tap'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { setCookies } from '../support/cookies.ts'
import { countRows } from '../support/database.ts'

/** Another host of the same domain can set cookies with these names, and browsers send all of them, in any order. */
const app = await buildApp(t)
const { call } = app
const [ada, bob] = [await app.user('ada'), await app.user('bob')]
const session = (...users: Pick<TestUser, 'session'>[]) => users.map((one) => `service_session=${one.session}`)
const refresh = (...users: Pick<TestUser, 'refresh'>[]) => users.map((one) => `service_refresh=${one.refresh}`)
/** With them, the headers have nearly the 32 KiB that the service reads. */
const junk = Array.from({ length: 500 }, (_, n) => `service_session=${String(n).padStart(43, 'A')}`)
const send = (method: string, path: string, cookies: string[], body?: object) =>
  call(method, path, { headers: { cookie: cookies.join('; ') }, ...(body && { body }) })

const content = { encrypted_data: 'x', data_hash: 'h' }
const cleared = [
  ['service_session', '', '0'],
  ['service_refresh', '', '0'],
]
const clearedBy = (answer: Parameters<typeof setCookies>[0]) =>
  setCookies(answer).map(({ name, value, attributes }) => [name, value, attributes['max-age']])

t.test('Valid sessions of two users are refused in any order, and both cookies are cleared', async (t) => {
  const mixed = [
    session(ada, bob),
    session(bob, ada),
    [...junk, ...session(bob, ada)],
    [...session(ada), ...junk, ...session(bob)],
    [...session(ada), ...refresh(bob)],
    [...refresh(ada), ...session(bob)],
  ]
  const before = await countRows(app.context)
  for (const cookies of mixed) {
    for (const [method, path, body, expected] of [
      ['GET', '/api/v1/bookmarks', undefined, { error: 'Invalid or expired session' }],
      ['POST', '/api/v1/bookmarks', content, { error: 'Invalid or expired session' }],
      ['GET', '/api/v1/auth/session', undefined, { authenticated: false }],
    ] as const) {
      const answer = await send(method, path, cookies, body)
      t.same([answer.status, answer.body, clearedBy(answer)], [401, expected, cleared], cookies.join('; ').slice(0, 40))
    }
  }
  for (const cookies of [
    refresh(ada, bob),
    refresh(bob, ada),
    [...session(ada), ...refresh(bob)],
    [...session(bob), ...refresh(ada)],
    [...session(bob), ...refresh(ada, bob)],
  ]) {
    const answer = await send('POST', '/api/v1/auth/refresh', cookies)
    t.same([answer.status, answer.body, clearedBy(answer)], [401, { error: 'Failed to refresh token' }, cleared])
  }
  t.same(await countRows(app.context), before)
  for (const user of [ada, bob]) t.equal((await user.call('GET', '/api/v1/bookmarks')).status, 200, 'each by itself')
})

t.test('A bearer token of one user with a cookie of another is refused', async (t) => {
  const before = await countRows(app.context)
  for (const [user, other] of [
    [ada, bob],
    [bob, ada],
  ] as const) {
    for (const cookies of [session(other), [...junk, ...session(other)], refresh(other), session(user, other)]) {
      const headers = { authorization: `Bearer ${user.session}`, cookie: cookies.join('; ') }
      const answer = await call('POST', '/api/v1/bookmarks', { headers, body: content })
      t.same([answer.status, answer.body, clearedBy(answer)], [401, { error: 'Invalid or expired session' }, cleared])
    }
  }
  t.same(await countRows(app.context), before)
})

t.test('A 401 has WWW-Authenticate for bearer tokens, and says if the sent one was invalid', async (t) => {
  const challenge = async (path: string, headers: Record<string, string>) => {
    const { status, headers: answered } = await call('GET', path, { headers })
    return [status, answered['www-authenticate']]
  }
  const wrong = [401, 'Bearer error="invalid_token"']
  for (const path of ['/api/v1/bookmarks', '/api/v1/auth/session']) {
    t.same(await challenge(path, {}), [401, 'Bearer'])
    t.same(await challenge(path, { authorization: 'Basic QWRhOg==' }), [401, 'Bearer'])
    t.same(await challenge(path, { authorization: 'Bearer junk' }), wrong)
    t.same(await challenge(path, { cookie: 'service_session=junk' }), wrong)
    t.same(await challenge(path, { authorization: `Bearer ${ada.session}` }), [200, undefined])
  }
  const { status, headers } = await call('POST', '/api/v1/auth/refresh')
  t.same([status, headers['www-authenticate']], [401, undefined], 'a refresh accepts only a cookie')
})

t.test('No socket opens for two users', async (t) => {
  const origin = await app.listen()
  const both = { ...ada, cookie: session(bob, ada).join('; ') }
  await t.rejects(openDevice(t, origin, both))
  await t.rejects(openDevice(t, origin, bob, { token: ada.session }))
  await openDevice(t, origin, ada)
  await openDevice(t, origin, { ...ada, cookie: [...junk, ...session(ada)].join('; ') })
  await openDevice(t, origin, { ...ada, cookie: '' }, { token: ada.session })
})

t.test('A bearer token has priority over a cookie of the same user, of any login', async (t) => {
  const another = await app.user('ada')
  const headers = { authorization: `bearer ${ada.session}`, cookie: another.cookie }
  const { sessions } = (await call('GET', '/api/v1/account/sessions', { headers })).body
  t.same(
    sessions.flatMap(({ id, current }: { id: string; current: boolean }) => (current ? [id] : [])),
    [ada.loginId],
  )
})

t.test('Useless cookies before or after the valid one do not hide it', async (t) => {
  const another = await app.user('ada')
  for (const cookies of [
    [...junk, ...session(ada)],
    [...session(ada), ...junk],
    session(ada, another),
    session(another, ada),
  ]) {
    const { status, headers } = await send('GET', '/api/v1/bookmarks', cookies)
    t.same([status, headers['set-cookie']], [200, undefined])
  }
  const renewed = await send('POST', '/api/v1/auth/refresh', [
    ...junk.map((one) => one.replace('session', 'refresh')),
    ...refresh(ada),
  ])
  t.equal(renewed.status, 200)
  const tooShort = Array.from({ length: 500 }, (_, n) => `service_session=${n}`)
  const repeated = Array.from({ length: 50 }, () => session(ada)).flat()
  for (const cookies of [tooShort, repeated])
    t.equal((await send('GET', '/api/v1/bookmarks', [...cookies, ...session(ada)])).status, 200)
})

t.test('A sign-out with as many useless cookies as fit ends the login of each valid one', async (t) => {
  const [one, two] = [await app.user('ada'), await app.user('ada')]
  t.equal((await send('POST', '/api/v1/auth/logout', [...junk, ...session(one), ...refresh(two)])).status, 200)
  for (const ended of [one, two]) {
    t.equal((await send('GET', '/api/v1/bookmarks', session(ended))).status, 401)
    t.equal((await send('POST', '/api/v1/auth/refresh', refresh(ended))).status, 401)
  }
  const bearer = { authorization: `Bearer ${ada.session}`, cookie: junk.join('; ') }
  t.equal((await call('GET', '/api/v1/bookmarks', { headers: bearer })).status, 200)
})
