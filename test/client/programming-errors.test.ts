/** Mistakes of an app's developer are reported at once, and never look like a missing network. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { createClient } from '../../src/client/api/client.ts'
import { deriveKeys } from '../../src/client/crypto/keys.ts'
import { type Feature, UnsupportedError } from '../../src/client/errors.ts'
import { createSync } from '../../src/client/sync/create-sync.ts'
import { indexedDbStore } from '../../src/client/sync/store/indexed-db.ts'
import { memoryStore } from '../../src/client/sync/store/memory.ts'
import type { Store } from '../../src/client/sync/store/store.ts'
import type { SyncOptions } from '../../src/client/sync/sync.ts'
import { forgetMasterKey, keepMasterKey } from '../../src/client/vault/master-key.ts'
import { hasVault } from '../../src/client/vault/vault.ts'

const valid = { baseUrl: 'https://sync.example.org', deviceId: 'laptop' }
const notIds = ['Büro', 'a\nb', '', 'x'.repeat(129), undefined as unknown as string]

t.test('createClient and createSync refuse a device id or user id that no request could contain', async (t) => {
  for (const deviceId of notIds) t.throws(() => createClient({ ...valid, deviceId }), RangeError)
  for (const id of notIds) {
    t.throws(() => sync({ deviceId: id }), { name: 'RangeError', message: /deviceId must be 1 to 128 printable ASCII/ })
    t.throws(() => sync({ userId: id }), { name: 'RangeError', message: /userId/ })
  }
  t.doesNotThrow(() => sync({ deviceId: "Ann's laptop" }))
})

t.test('createClient refuses a base URL that is not an origin', async (t) => {
  for (const baseUrl of [
    'sync.example.org',
    '/api',
    '',
    'htps://sync.example.org',
    'wss://sync.example.org',
    'https://ann:secret@sync.example.org',
    'https://sync.example.org/sync',
    'https://sync.example.org?x',
  ]) {
    t.throws(() => createClient({ ...valid, baseUrl }), { name: 'RangeError', message: /^baseUrl must be like https:/ })
  }
  for (const baseUrl of ['https://sync.example.org/', 'http://127.0.0.1:3000', 'HTTPS://Sync.Example.org:443']) {
    t.doesNotThrow(() => createClient({ ...valid, baseUrl }))
  }
})

t.test("a response that is not the service's is an OfflineError, and hasVault ignores its 404", async (t) => {
  const page = (status: number) => async () =>
    new Response('<!doctype html>', { status, headers: { 'content-type': 'text/html; charset=utf-8' } })
  const at = (status: number) => createClient({ ...valid, fetch: page(status) })
  for (const status of [200, 404, 413, 502]) {
    const name = { name: 'OfflineError', status }
    const message = `What responded is not the service (status ${status}): wrong address, a proxy, or the network wants a sign-in`
    await t.rejects(at(status).GET('/api/v1/auth/session'), { ...name, message })
    await t.rejects(hasVault(at(status), { userId: 'ann' }), name)
  }

  const offline = sync({ client: at(200) })
  const errors: unknown[] = []
  offline.on('error', ({ error }) => errors.push(error))
  await t.rejects(offline.syncNow(), { name: 'OfflineError', status: 200 })
  t.match(offline.status(), { state: 'offline', reason: 'service' })
  t.match(errors, [{ name: 'OfflineError', status: 200 }])
  await offline.stop()
})

t.test('a response that was cut off is an OfflineError', async (t) => {
  const fetch = async () => new Response('{"changes":[', { headers: { 'content-type': 'application/json' } })
  const cut = sync({ client: createClient({ ...valid, fetch }) })
  const errors: string[] = []
  cut.on('error', ({ error }) => errors.push(error.name))
  await t.rejects(cut.syncNow(), { name: 'OfflineError', cause: { name: 'SyntaxError' } })
  t.match(cut.status(), { state: 'offline', reason: 'network' })
  t.strictSame(errors, [])
  await cut.stop()
})

t.test("on a page without Web Locks, as over plain HTTP, the first call's error says what is missing", async (t) => {
  const { navigator } = globalThis
  Object.defineProperty(globalThis, 'navigator', { value: {}, configurable: true })
  t.teardown(() => Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true }))
  const wanted = new UnsupportedError('Web Locks')
  t.match(wanted, { fault: 'Web Locks', message: /or only over HTTPS/ })
  const shared: Store = { ...memoryStore(), shared: true }
  const made = sync({ store: shared })
  await t.rejects(made.start(), wanted)
  await t.rejects(made.put([]), wanted)
  await made.stop()
  const alone = sync({})
  await alone.put([])
  await alone.stop()
})

t.test('creating a sync, as while a server renders, opens nothing and needs no browser API', async (t) => {
  const names = ['BroadcastChannel', 'indexedDB', 'navigator'] as const
  for (const name of names) without(t, name)
  const shared = { ...memoryStore(), shared: true }
  for (const store of [indexedDbStore('ann'), shared]) {
    const created = sync({ store })
    t.same([created.tree(), created.status().state], [[], 'offline'])
    await created.stop()
  }
})

t.test('an error names the feature that the platform lacks', async (t) => {
  const lacks = (feature: Feature) => new UnsupportedError(feature)
  without(t, 'indexedDB')
  await t.rejects(indexedDbStore('ann').load(), lacks('IndexedDB'))
  await t.rejects(forgetMasterKey('ann'), lacks('IndexedDB'))
  await t.test('as in React Native', async (t) => {
    without(t, 'crypto')
    await t.rejects(keepMasterKey('ann', new Uint8Array(32)), lacks('WebCrypto'))
  })
  await t.test('as in Node 22', async (t) => {
    without(t, 'navigator')
    await t.rejects(sync({ store: indexedDbStore('ann') }).start(), lacks('Web Locks'))
  })
  // In a separate process, because this one may have derived a key and thus compiled the WebAssembly.
  await t.test('as in workerd', async (t) => {
    const script = `
      import { createKeyring } from './src/client/crypto/keyring.ts'
      WebAssembly.compile = async () => {
        throw new WebAssembly.CompileError('Wasm code generation disallowed by embedder')
      }
      const wrong = (error) => console.log(error.name, error.fault)
      await createKeyring({ userId: 'ann', passphrase: 'tinsel walrus oboe fjord' }).catch(wrong)`
    const cwd = new URL('../../', import.meta.url)
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd })
    t.equal(stdout, 'UnsupportedError WebAssembly\n')
  })
})

function without(t: Test, name: keyof typeof globalThis): void {
  const had = Object.getOwnPropertyDescriptor(globalThis, name)
  Object.defineProperty(globalThis, name, { value: undefined, configurable: true })
  t.teardown(() => (had ? Object.defineProperty(globalThis, name, had) : Reflect.deleteProperty(globalThis, name)))
}

function sync(options: Partial<SyncOptions>) {
  const keys = deriveKeys(randomBytes(32))
  return createSync({
    client: createClient(valid),
    keys,
    userId: 'ann',
    deviceId: 'd',
    store: memoryStore(),
    ...options,
  })
}
