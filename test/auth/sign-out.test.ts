import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { endLogin } from '../../src/service/db/tables/logins.ts'
import { allOperations, furnish, type Operation } from '../hostile/requests.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { type Answered, checkAnswer } from '../support/contract.ts'
import { snapshot } from '../support/database.ts'
import { createdExport } from '../support/exports.ts'
import { holdIntervals } from '../support/intervals.ts'
import { until } from '../support/until.ts'

const logout = '/api/v1/auth/logout'
const invalid = { error: 'Invalid or expired session' }

/** No sweep comes before it is told to. */
holdIntervals(t)
const app = await buildApp(t)
const { context, call } = app
const { objects, bodies } = context
const origin = await app.listen()
const ada = await app.user('ada')
const writes = allOperations(await furnish(ada, 'ada')).filter(
  ({ method, security }) => security === 'sessionCookie' && method !== 'GET',
)

/** Begins a request whose session has been checked, and whose body lacks its last byte. */
async function begin({ method, path, body = {} }: Operation, { cookie, token }: { cookie: string; token?: string }) {
  const text = JSON.stringify(body)
  const sent = token === undefined ? { cookie } : { authorization: `Bearer ${token}` }
  const headers = { ...sent, 'content-type': 'application/json', 'content-length': text.length, 'x-device-id': 'phone' }
  const begun = request(origin + path, { method, agent: false, headers })
  const before = bodies.held()
  begun.write(text.slice(0, -1))
  await until(() => bodies.held() > before)
  return async (): Promise<Answered> => {
    begun.end(text.slice(-1))
    const [response] = (await once(begun, 'response')) as [IncomingMessage]
    return checkAnswer(method, path, response.statusCode ?? 0, response.headers, await buffer(response), text)
  }
}

t.test('A write whose body was still arriving at the sign-out does not happen', async (t) => {
  t.equal(writes.length, 21)
  for (const operation of writes) {
    const user = await app.user('ada')
    const finish = await begin(operation, user)
    t.equal((await user.call('POST', logout)).status, 200)
    const before = await snapshot(context)
    const { status, body } = await finish()
    t.same([status, body], [401, invalid], operation.operationId)
    t.equal(await snapshot(context), before, 'nothing is written')
  }
  const { status } = await ada.call('GET', writes.find((it) => it.operationId === 'deleteExport')?.path ?? '')
  t.equal(status, 200, 'the file of the export is still there')
})

t.test('A write whose login ends once everything has been checked does not happen', async (t) => {
  const { database } = context
  const { write, writeJointly } = database
  t.teardown(() => Object.assign(database, { write, writeJointly }))
  for (const { operationId, method, path, body } of writes) {
    const user = await app.user('ada')
    let before = ''
    const end = async () => {
      Object.assign(database, { write, writeJointly })
      await write((trx) => endLogin(trx, user))
      before = await snapshot(context)
    }
    Object.assign(database, {
      write: (...work: Parameters<typeof write>) => end().then(() => write(...work)),
      writeJointly: (...work: Parameters<typeof writeJointly>) => end().then(() => writeJointly(...work)),
    })
    const { cookie } = user
    const headers = { cookie, 'x-device-id': 'phone' }
    const { status, body: said } = await call(method, path, { headers, ...(body && { body }) })
    t.same([status, said], [401, invalid], operationId)
    t.equal(await snapshot(context), before, 'nothing is written')
  }
})

t.test('A write whose body was still arriving happens if another login of the user has signed out', async (t) => {
  const operation = writes.find(({ operationId }) => operationId === 'createBookmark') as Operation
  const finish = await begin(operation, ada)
  await (await app.user('ada')).call('POST', logout)
  t.equal((await finish()).status, 201)
})

/** Ada's file never ends, so that her downloads last. */
async function beginDownload({ cookie }: TestUser, path: string, size: number) {
  const body = new Readable({ read() {} })
  body.push('begin')
  objects.get = async () => ({ size, body })
  const response = await fetch(origin + path, { headers: { cookie } })
  const reader = response.body?.getReader()
  await reader?.read()
  return { body, rest: async () => reader?.read() }
}

t.test('A download ends with its login', async (t) => {
  const { get } = objects
  t.teardown(() => Object.assign(objects, { get }))
  const { id, size_bytes } = await createdExport(ada)
  const path = `/api/v1/exports/${id}`
  const size = size_bytes ?? 0
  const loginOf = () => app.user('ada')
  const [here, there] = [await loginOf(), await loginOf()]

  t.test('at the sign-out: its connection is cut, and no other', async (t) => {
    const [ending, lasting] = [await beginDownload(here, path, size), await beginDownload(there, path, size)]
    await here.call('POST', logout)
    await t.rejects(ending.rest(), { message: 'terminated' })
    t.same([ending.body.destroyed, lasting.body.destroyed], [true, false])
    lasting.body.push('x'.repeat(size - 'begin'.length))
    t.equal((await lasting.rest())?.value?.length, size - 'begin'.length)
    lasting.body.push(null)
  })

  t.test('before it began', async (t) => {
    const user = await loginOf()
    const body = new Readable({ read() {} })
    objects.get = async () => {
      await user.call('POST', logout)
      return { size, body }
    }
    const answer = await user.call('GET', path)
    t.same([answer.status, answer.body, body.destroyed], [401, invalid, true])
  })
})

t.test('Logout ends every login that a valid cookie belongs to', async (t) => {
  const logins = [await app.user('bob'), await app.user('bob'), await app.user('bob'), await app.user('eve')]
  const [one, other, third, eve] = logins as [TestUser, TestUser, TestUser, TestUser]
  const bystander = await app.user('bob')
  const cookie = [
    `service_session=${'A'.repeat(43)}; ${one.cookie}; ${other.cookie}`,
    `service_refresh=${third.refresh}; service_refresh=${eve.refresh}; service_refresh=${one.refresh}`,
  ].join('; ')
  t.equal((await call('POST', logout, { headers: { cookie } })).status, 200)
  const statuses: number[] = []
  for (const user of [...logins, bystander]) {
    statuses.push((await user.call('GET', '/api/v1/bookmarks')).status)
    const headers = { cookie: `service_refresh=${user.refresh}` }
    statuses.push((await call('POST', '/api/v1/auth/refresh', { headers })).status)
  }
  t.same(statuses, [...Array(8).fill(401), 200, 200])
})

t.test(
  'Logout ends the login of a bearer token as exactly: its cookies, its socket and a write whose body is arriving',
  async (t) => {
    const [user, bystander] = [await app.user('bob'), await app.user('bob')]
    const device = await openDevice(t, origin, { ...user, cookie: '' }, { token: user.session })
    const operation = writes.find(({ operationId }) => operationId === 'createBookmark') as Operation
    const finish = await begin(operation, { cookie: '', token: user.session })
    const headers = { authorization: `Bearer ${user.session}` }
    t.equal((await call('POST', logout, { headers })).status, 200)
    t.equal(await device.closeCode, 4401)
    const { status, body } = await finish()
    t.same([status, body], [401, invalid])
    t.equal((await user.call('GET', '/api/v1/bookmarks')).status, 401)
    t.equal(
      (await call('POST', '/api/v1/auth/refresh', { headers: { cookie: `service_refresh=${user.refresh}` } })).status,
      401,
    )
    t.equal((await bystander.call('GET', '/api/v1/bookmarks')).status, 200)
  },
)

t.test('A logout that fails ends no login, and can be repeated', async (t) => {
  const [one, other] = [await app.user('zoe'), await app.user('zoe')]
  const headers = { cookie: `${one.cookie}; ${other.cookie}` }
  const { write } = context.database
  context.database.write = () => Promise.reject(new Error('the disk is gone'))
  t.equal((await call('POST', logout, { headers })).status, 500)
  context.database.write = write
  const statuses = async () => [
    (await one.call('GET', '/api/v1/bookmarks')).status,
    (await other.call('GET', '/api/v1/bookmarks')).status,
  ]
  t.same(await statuses(), [200, 200])
  t.equal((await call('POST', logout, { headers })).status, 200)
  t.same(await statuses(), [401, 401])
})

t.test('Of requests at the same moment, each has its answer; that of a login that has just ended is 401', async (t) => {
  const users = await Promise.all(['kim', 'lou', 'max', 'ned'].map((name) => app.user(name)))
  for (const [index, user] of users.entries()) {
    for (let made = 0; made < index; made++)
      await user.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'x', data_hash: 'h' } })
  }
  const requests = users.flatMap(({ call }) => [
    () => call('GET', '/api/v1/auth/session'),
    () => call('POST', '/api/v1/sync/pull'),
    () => call('POST', '/api/v1/sync/pull', { headers: { 'x-device-id': 'phone' } }),
  ])
  const answersOf = async (answers: Promise<Answered>[]) =>
    (await Promise.all(answers)).map(({ status, body }) => [status, body])
  const one = []
  for (const send of requests) one.push(...(await answersOf([send()])))
  t.same(await answersOf(requests.map((send) => send())), one)

  // As on another instance.
  await context.database.write((trx) => endLogin(trx, users[1] as TestUser))
  const statuses = (await answersOf(requests.map((send) => send()))).map(([status]) => status)
  t.same(
    statuses,
    one.map((_, index) => (Math.floor(index / 3) === 1 ? 401 : 200)),
  )
})
