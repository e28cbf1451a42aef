/** Responses that only a dishonest operator or a faulty service sends. */
import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { createHistory } from '../../src/client/history.ts'
import { createClient, createSync, deriveKeys, memoryStore, unwrap } from '../../src/client/index.ts'
import { startService } from '../../src/service/testing.ts'
import { bookmark } from './sync/device.ts'

// biome-ignore lint/suspicious/noExplicitAny: responses that no type allows
type Alter = (answer: any) => any

const service = await startService()
t.teardown(() => service.close())

/** A device of a new user, for whom responses can be changed. */
async function open() {
  const { baseUrl, userId, fetch: send, webSocket } = await service.connect(randomUUID())
  const alterations = new Map<string, Alter>()
  /** The times and sequence numbers in the device's requests. */
  const sent: unknown[] = []
  const client = createClient({
    baseUrl,
    deviceId: 'laptop',
    async fetch(request) {
      const body = request.body && (await request.clone().json())
      sent.push(body?.since ?? 0, ...(body?.changes ?? []).flatMap(timesOf))
      const response = await send(request)
      const alter = alterations.get(new URL(request.url).pathname)
      if (!alter) return response
      // In JSON, 1e400 is a number; JSON.stringify would write null.
      const json = JSON.stringify(alter(await response.json())).replaceAll('"1e400"', '1e400')
      return new Response(json, { headers: { 'content-type': 'application/json' } })
    },
  })
  const keys = deriveKeys(randomBytes(32))
  const store = memoryStore()
  const openSync = () => createSync({ client, keys, userId, deviceId: 'laptop', store, webSocket })
  const sync = openSync()
  const history = createHistory({ client, keys, userId, sync })
  return { sync, openSync, history, alterations, sent }
}

function timesOf({ timestamp, base }: { timestamp: unknown; base: unknown }): unknown[] {
  return [timestamp, base]
}

t.test('JSON that is not the service’s is an OfflineError in each call, and waiting edits stay', async (t) => {
  for (const path of ['sync/pull', 'sync/push']) {
    for (const foreign of [{ hello: 1 }, { user: 'ann', changes: {}, accepted_ids: 'x' }, ['portal'], 'portal', 1]) {
      const { sync, alterations } = await open()
      const errors: unknown[] = []
      sync.on('error', (event) => errors.push(event))
      await sync.put(bookmark('x', 'mine'))
      alterations.set(`/api/v1/${path}`, () => foreign)
      await t.rejects(sync.syncNow(), { name: 'OfflineError', status: 200 })
      t.match(errors, [{ error: { name: 'OfflineError', status: 200 } }])
      t.match(sync.status(), { state: 'offline', reason: 'service', waiting: 1 })
      alterations.clear()
      await sync.syncNow()
      t.match([sync.status(), sync.conflicts(), sync.get('x')], [{ waiting: 0 }, [], { title: 'mine' }])
    }
  }
  const { sync, history, alterations } = await open()
  await sync.put(bookmark('x', 'mine'))
  await sync.syncNow()
  alterations.set('/api/v1/bookmarks/x/versions', () => ({ hello: 1 }))
  await t.rejects(history.history('x'), { name: 'OfflineError', status: 200 })
})

t.test('Versions of another bookmark do not open as versions of the requested one', async (t) => {
  const { sync, history, alterations } = await open()
  for (const title of ['first', 'second']) {
    await sync.put([bookmark('x', `${title} x`), bookmark('y', `${title} y`)])
    await sync.syncNow()
  }
  t.match(await history.history('x'), [{ id: 'x', bookmark: { title: 'first x' }, error: null }])
  let ofY: unknown
  alterations.set('/api/v1/bookmarks/y/versions', (answer) => {
    ofY = answer
    return answer
  })
  t.match(await history.history('y'), [{ bookmark: { title: 'first y' } }])
  alterations.set('/api/v1/bookmarks/x/versions', () => ofY)
  t.match(await history.history('x'), [{ id: 'x', bookmark: null, error: { name: 'RecordError', fault: 'altered' } }])
})

t.test('The client stops asking for an endless list of versions', async (t) => {
  const { sync, history, alterations } = await open()
  await sync.put(bookmark('x', 'ex'))
  await sync.syncNow()
  let pages = 0
  alterations.set('/api/v1/bookmarks/x/versions', () => {
    if (++pages > 100) throw new Error('The client asks endlessly')
    return { versions: [], next: `after-${pages}` }
  })
  t.same(await history.history('x'), [])
  t.equal(pages, 50, 'the number of pages that kept versions can fill')
})

t.test('The sign-in leads only to a web address: a javascript: one would run in the app', async (t) => {
  let authorizationUrl: unknown
  const fetch = async () => Response.json({ authorizationUrl })
  const client = createClient({ baseUrl: 'https://sync.example.org', deviceId: 'laptop', fetch })
  for (authorizationUrl of [
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    null,
  ]) {
    await t.rejects(client.POST('/api/v1/auth/login', { body: {} }), { name: 'ApiError' }, String(authorizationUrl))
  }
  authorizationUrl = 'https://provider.example/authorize?state=x'
  t.same(unwrap(await client.POST('/api/v1/auth/login', { body: {} })), { authorizationUrl })
})

t.test('An impossible time from the service does not jam the sync for ever', async (t) => {
  const impossible = ['soon', null, '1e400', 1.5, -1, Number.MAX_SAFE_INTEGER, {}]
  const pull = '/api/v1/sync/pull'
  const push = '/api/v1/sync/push'
  const faults: Record<string, [path: string, alter: (time: unknown) => Alter]> = {
    cursor: [pull, (last_sync_timestamp) => (answer) => ({ ...answer, last_sync_timestamp })],
    'edit of another device': [
      pull,
      (timestamp) => (answer) => ({
        ...answer,
        changes: answer.changes.map((change: object) => ({ ...change, id: 'other', timestamp })),
      }),
    ],
    'clock and cursor of a push': [
      push,
      (time) => (answer) => ({ ...answer, timestamp: time, last_sync_timestamp: time }),
    ],
  }
  for (const [name, [path, alter]] of Object.entries(faults)) {
    for (const time of impossible) {
      const { sync, openSync, alterations, sent } = await open()
      await sync.put(bookmark('x', 'first'))
      await sync.syncNow()
      await sync.put(bookmark('x', 'second'))
      alterations.set(path, alter(time))
      await sync.syncNow().catch(() => {})
      await sync.stop()
      alterations.clear()
      const again = openSync()
      sent.length = 0
      await again.put([bookmark('x', 'third'), bookmark('y', 'new')])
      await again.syncNow()
      t.ok(sent.every(Number.isSafeInteger), `${name} ${JSON.stringify(time)}: ${sent}`)
      t.match(again.status(), { waiting: 0, quarantined: undefined })
      t.ok(Math.abs(Date.now() - again.status().lastSync) < 60_000)
      await again.stop()
    }
  }
})
