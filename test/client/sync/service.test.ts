/** The whole of it: createClient over HTTP, the platform's WebSocket, and a service that is killed. */
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { WebSocket as CookieSocket } from 'undici'
import { openAccount } from '../../../src/client/account.ts'
import { createClient } from '../../../src/client/api.ts'
import { deriveKeys, type Keys } from '../../../src/client/keys.ts'
import { decryptBookmark } from '../../../src/client/record.ts'
import type { RealtimeSocket } from '../../../src/client/sync/exchange/transport.ts'
import { memoryStore } from '../../../src/client/sync/store/memory.ts'
import type { Store } from '../../../src/client/sync/store/store.ts'
import { createSync, type Sync, type SyncOptions } from '../../../src/client/sync.ts'
import { createVault, rotateKeys } from '../../../src/client/vault.ts'
import { buildApp, type TestUser } from '../../support/app.ts'
import { pullAll } from '../../support/changes.ts'
import { folder, signInBefore, startService } from '../../support/service.ts'
import { sharedApp } from '../../support/shared-app.ts'
import { bookmark } from './device.ts'
import { until } from './turns.ts'

t.test('two devices live: an edit on one is on the other by itself', async (t) => {
  const { listen, user } = await sharedApp()
  const ann = await user('ann')
  const baseUrl = await listen()
  const keys = deriveKeys(randomBytes(32))
  const [a, b] = [open(t, { baseUrl, user: ann, keys, id: 'a' }), open(t, { baseUrl, user: ann, keys, id: 'b' })]
  await a.put(bookmark('x', 'offline'))
  await Promise.all([a.start(), b.start()])
  await until(() => [a, b].every((sync) => sync.status().state === 'online'))
  await until(() => b.get('x')?.title === 'offline')
  await b.put([bookmark('x', 'live'), bookmark('y', 'too')])
  await until(() => a.get('x')?.title === 'live' && a.get('y')?.title === 'too')
  await a.remove('y')
  await until(() => b.get('y') === undefined)
  t.same([a.status().waiting, b.status().waiting], [0, 0])
})

t.test('the session ends in mid-sync: one refresh mends it, or says signed out, with the queue kept', async (t) => {
  const { listen, user, setClock } = await buildApp(t)
  const ann = await user('ann')
  const refreshes: number[] = []
  const onAnswer = (path: string, status: number) => path.endsWith('/refresh') && refreshes.push(status)
  const a = open(t, { baseUrl: await listen(), user: ann, keys: deriveKeys(randomBytes(32)), id: 'a', onAnswer })
  await a.start()
  await until(() => a.status().state === 'online')

  setClock(Date.now() + 8 * 86_400_000)
  await a.put(bookmark('x', 'after a week'))
  await until(() => a.status().waiting === 0)
  t.same(refreshes, [200])

  setClock(Date.now() + 60 * 86_400_000)
  await a.put(bookmark('y', 'after months'))
  await until(() => a.status().state === 'signed-out')
  t.equal(a.status().waiting, 1)
  t.same(refreshes, [200, 401])
})

t.test('the service is killed in the middle of pushes: all is sent again, nothing is doubled', async (t) => {
  const dataDir = await folder(t)
  const [ann] = (await signInBefore(t, dataDir, ['ann'])) as [TestUser]
  const keys = deriveKeys(randomBytes(32))
  const list = Array.from({ length: 3000 }, (_, index) => bookmark(`b${index}`, `bookmark ${index}`))
  let service = await startService(t, dataDir)
  let answers = 0
  const a = open(t, { baseUrl: () => service.origin, user: ann, keys, id: 'a', onAnswer: () => answers++ })
  await a.importBookmarks(list)
  const cutOff = t.rejects(a.syncNow(), { name: 'OfflineError' })
  await until(() => answers === 4)
  await service.kill('SIGKILL')
  await cutOff
  const { waiting } = a.status()
  t.ok(waiting > 0 && waiting < 3000, `${waiting} were not confirmed`)

  service = await startService(t, dataDir)
  await a.syncNow()
  t.equal(a.status().waiting, 0)
  const { body } = await service.as(ann).call('GET', '/api/v1/bookmarks?limit=1')
  t.equal(body.meta.total, 3000)
  const b = open(t, { baseUrl: service.origin, user: ann, keys, id: 'b' })
  await b.syncNow()
  t.same([...b.bookmarks().keys()].sort(), list.map(({ id }) => id).sort())
})

t.test('a lost laptop: signed out, cut off, and a copy of its disk opens nothing written afterwards', async (t) => {
  const { listen, user } = await sharedApp()
  const [laptopUser, phoneUser] = [await user('carol'), await user('carol')]
  const { userId } = phoneUser
  const baseUrl = await listen()
  const phoneClient = clientOf({ baseUrl, user: phoneUser, id: 'phone' }).client
  const vault = await (await createVault(phoneClient, { userId, passphrase: 'correct horse' })).confirm()
  const laptopStore = memoryStore()
  const laptop = open(t, {
    baseUrl,
    user: laptopUser,
    keys: deriveKeys(vault.masterKey),
    id: 'laptop',
    store: laptopStore,
  })
  const phone = open(t, { baseUrl, user: phoneUser, keys: vault.keys, id: 'phone' })
  await laptop.put([bookmark('x', 'before'), bookmark('y', 'too')])
  await Promise.all([laptop.start(), phone.start()])
  await until(() => laptop.status().state === 'online' && phone.bookmarks().size === 2)

  const account = openAccount({ client: phoneClient, userId, sync: phone })
  const [lost] = (await account.sessions()).filter(({ current }) => !current)
  await account.endSession(lost?.id ?? '')
  // Its socket is closed: nothing else could tell it.
  await until(() => laptop.status().state === 'signed-out')
  await laptop.put(bookmark('x', 'by the thief'))
  await t.rejects(laptop.syncNow(), { name: 'SignedOutError' })
  const { status } = await laptopUser.call('POST', '/api/v1/sync/push', { body: { changes: [] } })
  t.equal(status, 401)

  const draft = await rotateKeys(phoneClient, { userId, passphrase: 'correct horse' }, 'correct horse')
  const { keys } = await draft.confirm()
  await phone.adoptKeys(keys)
  await phone.put([bookmark('x', 'after'), bookmark('z', 'new')])
  await until(() => phone.status().waiting === 0)

  const disk = { rows: (await laptopStore.load()).rows, keys: deriveKeys(vault.masterKey) }
  t.equal(disk.rows.length, 2)
  const { changes } = await pullAll(phoneUser)
  t.equal(changes.length, 3)
  const first = Buffer.of(1)
  for (const { entity_id: id, encrypted_data = '', data_hash = '' } of changes) {
    t.ok(decryptBookmark(keys, { id, encrypted_data, data_hash }))
    const without = Buffer.from(encrypted_data, 'base64').subarray(keys.prefix.length)
    const renamed = Buffer.concat([first, without]).toString('base64')
    for (const data of [encrypted_data, renamed]) {
      t.throws(() => decryptBookmark(disk.keys, { id, encrypted_data: data, data_hash }), { name: 'RecordError' })
    }
  }
  // Who knows a bookmark's whole content could else look for its hash.
  const hashes = disk.rows.map(({ version }) => version?.data_hash)
  t.same(
    changes.filter(({ data_hash }) => hashes.includes(data_hash)),
    [],
  )
})

interface DeviceOptions {
  store?: Store
  baseUrl: string | (() => string)
  user: TestUser
  keys: Keys
  id: string
  onAnswer?(path: string, status: number): void
}

/** A device in Node, which has no cookies of its own. */
function open(t: Test, options: DeviceOptions): Sync {
  const { user, keys, id, store = memoryStore() } = options
  const sync = createSync({ ...clientOf(options), keys, userId: user.userId, deviceId: id, store })
  t.teardown(() => sync.stop())
  return sync
}

function clientOf({
  baseUrl,
  user,
  id,
  onAnswer,
}: Omit<DeviceOptions, 'keys'>): Pick<SyncOptions, 'client' | 'webSocket'> {
  const origin = typeof baseUrl === 'string' ? () => baseUrl : baseUrl
  const cookies = new Map([
    ['service_session', user.session],
    ['service_refresh', user.refresh],
  ])
  const cookie = () => [...cookies].map((pair) => pair.join('=')).join('; ')
  const client = createClient({
    baseUrl: origin(),
    deviceId: id,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      const copy = new Request(new URL(pathname + search, origin()), request)
      copy.headers.set('cookie', cookie())
      const response = await fetch(copy)
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        cookies.set(name, value)
      }
      onAnswer?.(pathname, response.status)
      return response
    },
  })
  const webSocket: SyncOptions['webSocket'] = (url) =>
    new CookieSocket(url, { headers: { cookie: cookie() } }) as unknown as RealtimeSocket
  return { client, webSocket }
}
