import { randomBytes } from 'node:crypto'
import t from 'tap'
import { deriveKeys } from '../../../src/client/crypto/keys.ts'
import { buildApp, type TestUser } from '../../support/app.ts'
import { folder, signInBefore, startService } from '../../support/service.ts'
import { until } from './clock.ts'
import { bookmark } from './device.ts'
import { open } from './real-device.ts'

/** The complete client: createClient over HTTP, the platform's WebSocket, and a service that is killed. */

t.test('if the session ends during a sync, one refresh renews it or signs out, and the queue is kept', async (t) => {
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

t.test('if the service is killed during pushes, all edits are sent again and none is duplicated', async (t) => {
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
  t.ok(waiting > 0 && waiting < 3000, `${waiting} edits were not confirmed`)

  service = await startService(t, dataDir)
  await a.syncNow()
  t.equal(a.status().waiting, 0)
  const { body } = await service.as(ann).call('GET', '/api/v1/bookmarks?limit=1')
  t.equal(body.meta.total, 3000)
  const b = open(t, { baseUrl: service.origin, user: ann, keys, id: 'b' })
  await b.syncNow()
  t.same([...b.bookmarks().keys()].sort(), list.map(({ id }) => id).sort())
})
