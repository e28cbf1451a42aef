import { once } from 'node:events'
import t from 'tap'
import { WebSocket } from 'ws'
import { signInAt } from '../../scripts/servers/sign-in.ts'
import { openDevice, realtimeUrl } from '../realtime/device.ts'
import { openBrowser } from '../support/browser.ts'
import { change } from '../support/changes.ts'
import { breakWrites } from '../support/database.ts'
import { buildWithMock } from '../support/mock-service.ts'
import { relyingParty } from '../support/relying-party.ts'

/** Sockets, and sign-ins with a provider that fails at each step. test/log.test.ts covers ordinary requests. */
t.test('No secret of a sign-in appears in the logs, however the provider responds', async (t) => {
  const app = await buildWithMock(t, { LOG_LEVEL: 'trace' })
  const { mock, call, setClock } = app
  const secrets = new Set<string>([relyingParty.clientSecret, encodeURIComponent(relyingParty.clientSecret)])
  mock.alter.tokens = (body) => {
    for (const name of ['access_token', 'refresh_token', 'id_token']) {
      if (body[name] !== undefined) secrets.add(String(body[name]))
    }
  }
  const failures: Record<string, () => void> = {
    none: () => {},
    'a token endpoint that fails': () => mock.faults.set('token', 'error'),
    'a token endpoint that refuses': () => mock.tokenErrors.push('canary-error-code'),
    'an ID token with another nonce': () => {
      mock.alter.idToken = (claims) => Object.assign(claims, { nonce: 'canary-nonce', email: 'canary@example.org' })
    },
    'UserInfo of another user': () => {
      mock.alter.userInfo = (claims) => Object.assign(claims, { sub: 'canary-subject' })
    },
    'an HTML page instead of keys': () => mock.faults.set('jwks', 'html'),
    'a database that fails': () => t.teardown(breakWrites(app.context)),
  }
  for (const fail of Object.values(failures)) {
    const browser = openBrowser(call)
    const url = await browser.startLogin('/canary-return-url')
    const { searchParams } = new URL(url)
    for (const name of ['nonce', 'code_challenge']) secrets.add(String(searchParams.get(name)))
    const callback = await signInAt(url, 'canary-name')
    secrets.add(String(new URL(callback).searchParams.get('code')))
    fail()
    await browser.comeBack(callback)
    for (const value of Object.values(browser.cookies())) secrets.add(value)
    setClock(Date.now() + 61_000)
    await browser.call('POST', '/api/v1/auth/refresh')
    setClock(undefined)
    mock.faults.clear()
    delete mock.alter.idToken
    delete mock.alter.userInfo
  }
  for (const { form, authorization } of mock.requests) {
    for (const name of ['code', 'code_verifier', 'refresh_token']) secrets.add(String(form.get(name)))
    if (authorization) secrets.add(authorization.split(' ')[1] ?? '')
  }
  secrets.delete('null')
  const text = app.log.join('')
  t.ok(secrets.size > 30, `${secrets.size} secrets`)
  t.ok(text.split('a sign-in failed').length > 4, 'the failures are logged')
  const leaked = [...secrets, 'canary'].filter((secret) => text.includes(secret))
  t.same(leaked, [])
})

t.test('Nothing that is sent over a socket appears in the logs', async (t) => {
  const app = await buildWithMock(t, { LOG_LEVEL: 'trace' })
  const origin = await app.listen()
  const ada = await app.user('ada')
  const ids = { 'x-user-id': ada.userId }
  const refused = new WebSocket(`${realtimeUrl(origin)}?device_id=canary-device&since=canary-since`, {
    headers: { cookie: `${ada.cookie}; other=canary-cookie`, ...ids },
  })
  refused.on('error', () => {})
  await once(refused, 'unexpected-response')
  const phone = await openDevice(t, origin, ada, { deviceId: 'canary-device' })
  const event = change({ entity_id: 'canary-id', encrypted_data: 'canary-ciphertext', data_hash: 'canary-hash' })
  phone.send({ type: 'sync', event })
  await phone.nextSync()
  phone.socket.send('canary: no JSON')
  phone.send({ type: 'sync', event: { ...event, timestamp: 'canary' } })
  await phone.next()
  await phone.next()
  const repair = breakWrites(app.context)
  phone.send({ type: 'sync', event: { ...event, id: 'canary-event', timestamp: event.timestamp + 1 } })
  t.same(await phone.next(), { type: 'error', error: 'Service unavailable' })
  repair()
  phone.socket.send('canary'.repeat(200_000))
  t.equal(await phone.closeCode, 1009)
  const text = app.log.join('')
  t.match(text, /disk I\/O error/, 'an internal error is logged')
  t.notOk(text.includes('canary'))
  t.notOk(text.includes(ada.session))
})
