import type { Socket } from 'node:net'
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openDevice } from '../realtime/device.ts'
import { buildApp } from '../support/app.ts'
import { interceptWrites } from '../support/database.ts'
import { until } from '../support/until.ts'
import { openEndlessExports } from './downloads.ts'
import { openUnread, storeMuch } from './unread.ts'

const list = '/api/v1/bookmarks?limit=1000'

t.test('A connection that takes nothing of its response for 30 s is closed', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const app = await buildApp(t)
  const { responses, downloads, hub, database } = app.context
  const origin = await app.listen()
  const connections = new Set<Socket>()
  app.app.server.on('connection', (socket) => connections.add(socket.once('close', () => connections.delete(socket))))
  const ada = await app.user('ada')
  await storeMuch(app, ada)
  const { make, openFiles } = openEndlessExports(app)

  await openDevice(t, origin, ada)
  await openUnread(t, origin, ada, list)
  await openUnread(t, origin, ada, await make(ada))
  const slow = await openUnread(t, origin, ada, list)
  const begun = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  interceptWrites({ database }, async (write) => {
    begun.resolve()
    await finish.promise
    return write()
  })
  const headers = { cookie: ada.cookie, 'content-type': 'application/json' }
  const working = fetch(`${origin}/api/v1/bookmarks`, {
    method: 'POST',
    headers,
    body: '{"encrypted_data":"x","data_hash":"x"}',
  })
  await begun.promise
  await settle(connections)

  mock.timers.tick(30_000)
  t.equal(connections.size, 5)
  await slow.take(4 * 1024 * 1024)
  await settle(connections)
  mock.timers.tick(5000)
  await until(() => connections.size === 3)
  await until(() => downloads.held() === 0)
  t.equal(responses.held(), 1.5 * 1024 * 1024)
  t.equal(openFiles(), 0, 'its file, too')
  t.equal(hub.sockets(), 1, 'a socket has a check of its own')
  t.equal((await slow.read()).body.data.length, 64, 'one that reads slowly is not closed')
  finish.resolve()
  t.equal((await working).status, 201, 'nor one that waits for its response')
})

/** Resolves once the service can send no more: each side has what its sockets hold. */
async function settle(connections: Set<Socket>): Promise<void> {
  let last: string | undefined
  for (let quiet = 0; quiet < 50; ) {
    await sleep(1)
    const taken = [...connections].map(({ bytesWritten, writableLength }) => bytesWritten - writableLength).join()
    quiet = taken === last ? quiet + 1 : 0
    last = taken
  }
}
