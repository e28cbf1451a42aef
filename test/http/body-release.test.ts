import type { Socket } from 'node:net'
import t from 'tap'
import { breakDatabase, interceptWrites } from '../support/database.ts'
import { until } from '../support/until.ts'
import { mebibyte, nothing, openForUploads, type Upload } from './uploads.ts'

t.test('However a request ends, its bytes are released', async (t) => {
  const { app, context, user, bodies, begin } = await openForUploads(t)
  const { cookie } = await user('ada')
  const connections: Socket[] = []
  app.server.on('connection', (socket) => connections.push(socket))
  const ends: Record<string, (upload: Upload) => Promise<unknown>> = {
    async 'it is carried out'({ end, answer }) {
      end(nothing)
      t.equal((await answer).status, 200)
    },
    async 'it is malformed'({ end, answer }) {
      end('{')
      t.equal((await answer).status, 400)
    },
    async 'it is too large'({ send, answer, abort }) {
      send(32 * mebibyte)
      t.equal((await answer).status, 413)
      abort()
    },
    async 'it fails'({ end, answer }) {
      const repair = breakDatabase(context)
      end(nothing)
      t.ok((await answer).status >= 500)
      repair()
    },
    async 'its client is gone'({ abort }) {
      abort()
    },
    async 'it takes too long'() {
      const timeout = Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      app.server.emit('clientError', timeout, connections.at(-1))
    },
  }
  for (const [name, end] of Object.entries(ends)) {
    const upload = await begin({ cookie })
    upload.send(mebibyte)
    await until(() => bodies.held() === mebibyte)
    await end(upload)
    await until(() => bodies.held() === 0)
    t.pass(name)
  }
})

t.test('A body in use is counted, even when its client is gone', async (t) => {
  const { app, context, user, bodies, begin } = await openForUploads(t)
  const { cookie } = await user('ada')
  const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  interceptWrites(context, async (write) => {
    begun.resolve()
    await finish.promise
    return write()
  })
  const upload = await begin({ cookie })
  upload.send(mebibyte)
  upload.end(nothing)
  await begun.promise
  const isConnected = () =>
    new Promise<boolean>((resolve) => app.server.getConnections((_, count) => resolve(count > 0)))
  upload.abort()
  await until(async () => !(await isConnected()))
  t.equal(bodies.held(), mebibyte + nothing.length)
  finish.resolve()
  await until(() => bodies.held() === 0)
})
