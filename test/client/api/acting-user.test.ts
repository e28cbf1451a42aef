import t from 'tap'
import { createClient, createSync, deriveKeys, memoryStore } from '../../../src/client/index.ts'
import { createSync as createSyncInWorker } from '../../../src/client/worker.ts'
import { createSync as createSyncInExtension } from '../../../src/extension/sync.ts'

/** A service where Ann is signed in. It records the user whom each call names in `X-User-ID`. */
function open() {
  const named: [path: string, userId: string | null][] = []
  const service = { user: 'ann' as string | undefined }
  const client = createClient({
    baseUrl: 'https://sync.example.org',
    deviceId: 'laptop',
    fetch: async ({ url, headers }) => {
      named.push([new URL(url).pathname, headers.get('x-user-id')])
      const session = { authenticated: true, user: { user_id: service.user }, has_keyring: true }
      const lists = { data: [], bookmarks: [], success: true, name: 'encrypted-bookmark-sync' }
      return service.user === undefined
        ? Response.json({ authenticated: false }, { status: 401, headers: { 'x-error-code': 'InvalidSession' } })
        : Response.json({ ...session, ...lists })
    },
  })
  const lastNamed = async (call: Promise<unknown>) => {
    named.length = 0
    await call
    return named.at(-1)?.[1]
  }
  return { client, service, lastNamed }
}

t.test('A client names the first user that the service has named, except when it asks for the session', async (t) => {
  const { client, service, lastNamed } = open()
  const list = () => lastNamed(client.GET('/api/v1/bookmarks'))
  const ask = () => lastNamed(client.GET('/api/v1/auth/session'))
  t.equal(await list(), null, 'no user is known yet')
  t.equal(await ask(), null)
  t.equal(await list(), 'ann')
  service.user = 'bob'
  t.equal(await ask(), null)
  t.equal(await list(), 'ann', 'also after another user has signed in')
  service.user = undefined
  await ask()
  t.equal(await list(), 'ann', 'also after the sign-out')
  await client.POST('/api/v1/auth/logout')
  t.equal(await list(), 'ann')
})

t.test('A client made for one user always names that user, and has the middleware that the app adds', async (t) => {
  const { client, lastNamed } = open()
  const ann = client.as('ann')
  const seen: string[] = []
  client.use({ onRequest: ({ schemaPath }) => void seen.push(schemaPath) })
  await client.GET('/api/v1/auth/session')
  const carol = client.as('carol')
  t.equal(await lastNamed(carol.GET('/api/v1/auth/session')), 'carol', 'also in the request for the session')
  t.equal(await lastNamed(carol.request('get', '/api/v1/bookmarks')), 'carol')
  t.equal(await lastNamed(ann.GET('/api/v1/trash')), 'ann')
  t.same(seen, ['/api/v1/auth/session', '/api/v1/auth/session', '/api/v1/bookmarks', '/api/v1/trash'])
})

for (const [where, create] of Object.entries({ createSync, createSyncInWorker, createSyncInExtension }))
  t.test(`The device id of a sync is sent only in calls of its user: ${where}`, async (t) => {
    const devices: (string | null)[] = []
    const client = createClient({
      baseUrl: 'https://sync.example.org',
      deviceId: 'laptop',
      fetch: async ({ headers }) => {
        devices.push(headers.get('x-device-id'))
        return Response.json({ user_id: 'ann', authenticated: true, user: { user_id: 'ann' }, has_keyring: true })
      },
    })
    const keys = () => deriveKeys(new Uint8Array(32))
    for (const [userId, deviceId] of [
      ['ann', 'of-ann'],
      ['bob', 'of-bob'],
    ] as const)
      create({ client: client.as(userId), userId, keys: keys(), deviceId, store: memoryStore() })
    await client.as('ann').GET('/api/v1/sync/status')
    await client.as('bob').as('bob').GET('/api/v1/sync/status')
    await client.GET('/api/v1/sync/status')
    await client.GET('/api/v1/auth/session')
    await client.GET('/api/v1/sync/status')
    t.same(devices, ['of-ann', 'of-bob', 'of-ann', null, 'of-ann'])
  })
