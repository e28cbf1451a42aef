import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { signInAt } from '../../../scripts/servers/sign-in.ts'
import { createSync, createVault, openVault, type Sync } from '../../../src/client/index.ts'
import { type Device, openDevice } from '../../../src/client/node/device.ts'
import { buildWithEmbedded } from '../../support/mock-service.ts'
import { until } from '../../support/until.ts'
import { bookmark } from '../sync/device.ts'

const app = await buildWithEmbedded(t)
const baseUrl = await app.listen()
const passphrase = 'tinsel walrus oboe fjord'

t.test('A device signs in by a redirect, syncs live, and opens offline with its bookmarks', async (t) => {
  const [here, there] = [join(t.testdir(), 'here.db'), join(t.testdir(), 'there.db')]
  const other = openDevice(there, { baseUrl })
  const userId = await other.signIn(browser('Ada'))
  const draft = await createVault(other.client, { userId, passphrase })
  const { masterKey } = await draft.confirm()
  const theirs = await start(t, other, userId, async () => ({ masterKey }))
  await theirs.put(bookmark('x', 'from the other device'))

  const device = openDevice(here, { baseUrl })
  t.equal(await device.signIn(browser('Ada')), userId)
  const sync = await start(t, device, userId, () => openVault(device.client, { userId, passphrase }))
  await until(() => sync.get('x')?.title === 'from the other device' && sync.status().state === 'online')
  await theirs.put(bookmark('y', 'live'))
  await until(() => sync.get('y')?.title === 'live')
  await sync.stop()

  const nowhere = openDevice(here, { baseUrl: 'http://127.0.0.1:9' })
  t.equal(nowhere.deviceId, device.deviceId)
  t.equal(await nowhere.signIn(never), userId)
  const offline = await start(t, nowhere, userId, never)
  t.same([...offline.bookmarks().values()].map(({ title }) => title).sort(), ['from the other device', 'live'])
  await offline.put(bookmark('z', 'made offline'))
  await offline.stop()

  const again = openDevice(here, { baseUrl })
  t.equal(await again.signIn(never), userId, 'the cookies were kept')
  await start(t, again, userId, never)
  await until(() => theirs.get('z')?.title === 'made offline')
})

t.test('A refreshed session survives a restart, and its socket opens', async (t) => {
  const path = join(t.testdir(), 'a.db')
  const ann = await app.user('ann')
  const cookie = `service_session=wrong; service_refresh=${ann.refresh}`
  const device = openDevice(path, { baseUrl, cookie })
  t.equal(await device.signIn(never), ann.userId)

  const again = openDevice(path, { baseUrl, cookie })
  const paths: string[] = []
  again.client.use({
    onResponse: ({ response }) => void paths.push(`${response.status} ${new URL(response.url).pathname}`),
  })
  t.equal(await again.signIn(never), ann.userId)
  t.same(paths, ['200 /api/v1/auth/session'], 'the newer cookie is used, not the given one')
  const sync = await start(t, again, ann.userId, async () => ({ masterKey: randomBytes(32) }))
  await until(() => sync.status().state === 'online')
})

t.test('JSON of another server is reported at the sign-in', async (t) => {
  const other = createServer((_, response) => response.setHeader('content-type', 'application/json').end('{}'))
  await once(other.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  const device = openDevice(join(t.testdir(), 'a.db'), { baseUrl: `http://127.0.0.1:${port}` })
  const message = `http://127.0.0.1:${port} is not the service (status 200): wrong address, a proxy, or the network wants a sign-in`
  await t.rejects(device.signIn(never), { name: 'OfflineError', status: 200, message })
})

t.test('Signing out ends the session and deletes the file', async (t) => {
  const path = join(t.testdir(), 'a.db')
  const ben = await app.user('ben')
  const device = openDevice(path, { baseUrl, cookie: ben.cookie })
  const userId = await device.signIn(never)
  const sync = await start(t, device, userId, async () => ({ masterKey: randomBytes(32) }))
  t.equal(statSync(path).mode & 0o777, 0o600)
  await sync.signOut()
  t.throws(() => statSync(path), { code: 'ENOENT' })
  t.equal((await ben.call('GET', '/api/v1/auth/session')).status, 401)
})

t.test('A file belongs to one user, and without a file a device cannot open offline', async (t) => {
  const path = join(t.testdir(), 'a.db')
  const [ann, ben] = [await app.user('ann'), await app.user('ben')]
  const offline = openDevice(path, { baseUrl: 'http://127.0.0.1:9' })
  await t.rejects(offline.signIn(never), { name: 'OfflineError' })
  await openDevice(path, { baseUrl, cookie: ann.cookie }).signIn(never)
  const device = openDevice(path, { baseUrl, cookie: ben.cookie })
  await t.rejects(device.signIn(never), { message: `${path} is another user's` })
})

t.test('A sign-in that the user refuses, or that is aborted, rejects and stops listening', async (t) => {
  const device = openDevice(join(t.testdir(), 'a.db'), { baseUrl })
  const refuse = async (url: string) => {
    listener = new URL(url).searchParams.get('state') ?? ''
    const callback = new URL('/api/v1/auth/callback?error=access_denied', baseUrl)
    callback.searchParams.set('state', listener)
    callback.searchParams.set('iss', new URL(url).origin)
    t.match(await (await fetch(callback)).text(), 'Login was refused by the identity provider')
  }
  let listener = ''
  await t.rejects(device.signIn(refuse), { name: 'SignInError', message: 'Login was refused by the identity provider' })
  await t.rejects(fetch(listener), TypeError)
  await t.rejects(device.signIn(never), { message: 'not needed' }, 'the callback itself fails')
  const aborting = new AbortController()
  const aborted = device.signIn((url) => {
    listener = new URL(url).searchParams.get('state') ?? ''
    aborting.abort()
  }, aborting)
  await t.rejects(aborted, { name: 'AbortError' })
  await t.rejects(fetch(listener), TypeError)
})

/** A browser that signs in as this person and follows the redirects to the listener. */
function browser(name: string) {
  return async (url: string) => {
    const { pathname, search } = new URL(await signInAt(url, name))
    const page = await fetch(baseUrl + pathname + search)
    if (!page.ok) throw new Error(`The listener responded with ${page.status}`)
  }
}

async function never(): Promise<never> {
  throw new Error('not needed')
}

async function start(
  t: Test,
  device: Device,
  userId: string,
  vault: () => Promise<{ masterKey: Uint8Array }>,
): Promise<Sync> {
  const sync = createSync({ ...device, userId, keys: await device.unlock(vault) })
  t.teardown(() => sync.stop())
  await sync.start()
  return sync
}
