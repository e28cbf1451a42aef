import t from 'tap'
import { allOperations, furnish } from '../hostile/requests.ts'
import { snapshot } from '../support/database.ts'
import { until } from '../support/until.ts'
import { mebibyte, nothing, openForUploads, type Upload } from './uploads.ts'

const login = '/api/v1/auth/login'
const kibibyte = 1024

t.test('A body that does not go on: 408, whatever the operation, and nothing changed', async (t) => {
  const { context, user, bodies, begin, pass } = await openForUploads(t)
  const ada = await user('ada')
  const operations = allOperations(await furnish(ada, 'ada')).filter(({ method }) => method !== 'GET')
  const before = await snapshot(context)
  const cookie = `${ada.cookie}; service_refresh=${ada.refresh}`
  const uploads = await Promise.all(operations.map(({ method, path }) => begin({ method, path, cookie })))
  for (const upload of uploads) upload.write('{')
  await until(() => bodies.held() === uploads.length)
  pass(20)
  const answers = await Promise.all(uploads.map(({ answer }) => answer))
  t.same(
    answers.map(({ status, body, headers }) => [status, body, headers.connection]),
    operations.map(() => [408, { error: 'Request timeout' }, 'close']),
  )
  await until(() => bodies.held() === 0)
  t.equal(await snapshot(context), before)
})

/** With the pushes, no more at a time than are served however slow the machine is. */
const atOnce = 28

t.test(
  `${atOnce} unfinished logins and two unfinished pushes keep nobody out, and hold nothing for long`,
  async (t) => {
    const { app, user, call, bodies, begin, hold, send, pass } = await openForUploads(t)
    const [eve, ada] = [await user('eve'), await user('ada')]
    const held = await hold(eve, 62 * mebibyte)
    const logins: Upload[] = []
    while (logins.length < atOnce) logins.push(await begin({ path: login }))
    for (const upload of logins) upload.send(8 * kibibyte)
    const most = 62 * mebibyte + atOnce * 8 * kibibyte
    await until(() => bodies.held() === most)
    const half = atOnce / 2
    for (const upload of logins.slice(half)) upload.send(mebibyte)
    const tooLarge = await Promise.all(logins.slice(half).map(({ answer }) => answer))
    t.same(new Set(tooLarge.map(({ status }) => status)), new Set([413]), 'a login has 8 KiB')
    t.equal(await send(ada, mebibyte), 200)
    t.equal(await send({ call }, 8 * kibibyte, '/api/v1/auth/logout'), 200)

    pass(20)
    const slow = await Promise.all([...held, ...logins.slice(0, half)].map(({ answer }) => answer))
    t.same(new Set(slow.map(({ status }) => status)), new Set([408]))
    await until(() => bodies.held() === 0)
    t.equal(await send(eve, mebibyte), 200)
    const isConnected = () => new Promise((resolve) => app.server.getConnections((_, count) => resolve(count > 0)))
    await until(async () => !(await isConnected()))
  },
)

t.test('A body that goes on is left alone; the more it holds, the faster it must', async (t) => {
  const { user, bodies, begin, pass } = await openForUploads(t)
  const { cookie } = await user('ada')
  const [steady, dripping] = [await begin({ cookie }), await begin({ cookie })]
  let arrived = 0
  const arrive = async (steadily: number, dripped: number) => {
    steady.send(steadily)
    dripping.send(dripped)
    arrived += steadily + dripped
    await until(() => bodies.held() === arrived)
    pass(10)
    await new Promise(setImmediate)
  }
  await arrive(16 * kibibyte, 24 * mebibyte)
  await arrive(16 * kibibyte, 2 * mebibyte)
  await arrive(16 * kibibyte, 16 * kibibyte)
  t.equal((await dripping.answer).status, 408)
  await until(() => bodies.held() === 48 * kibibyte)
  steady.end(nothing)
  t.equal((await steady.answer).status, 200)
})
