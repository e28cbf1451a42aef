import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import type { Trx } from '../../src/service/db/engine/database.ts'
import { endLogin, holdLogin, ownerOfLogins } from '../../src/service/db/tables/logins.ts'
import { networkOf } from '../../src/service/load/addresses.ts'
import { allOperations, furnish, type Operation } from '../hostile/requests.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { type Answered, checkAnswer } from '../support/contract.ts'
import { interceptWrites, snapshot } from '../support/database.ts'
import { createdExport } from '../support/exports.ts'
import { holdIntervals } from '../support/intervals.ts'
import { until } from '../support/until.ts'

const logout = '/api/v1/auth/logout'
const invalid = { error: 'Invalid or expired session' }

/** After the first sweep, at the start, no other runs before the test asks for it. */
holdIntervals(t)
const app = await buildApp(t)
const { context, call } = app
const { objects, gate } = context
const unfinished = () => gate.smallBodies.load().taken
const origin = await app.listen()
const ada = await app.user('ada')
const writes = allOperations(await furnish(ada, 'ada')).filter(
  ({ method, security }) => security === 'sessionCookie' && method !== 'GET',
)

/** Begins a request: its session has been checked, and the last byte of its body is still missing. */
async function begin({ method, path, body = {} }: Operation, { cookie, token }: { cookie: string; token?: string }) {
  const text = JSON.stringify(body)
  const sent = token === undefined ? { cookie } : { authorization: `Bearer ${token}` }
  const headers = { ...sent, 'content-type': 'application/json', 'content-length': text.length, 'x-device-id': 'phone' }
  const begun = request(origin + path, { method, agent: false, headers })
  const before = unfinished()
  begun.write(text.slice(0, -1))
  await until(() => unfinished() > before)
  return async (): Promise<Answered> => {
    begun.end(text.slice(-1))
    const [response] = (await once(begun, 'response')) as [IncomingMessage]
    return checkAnswer(method, path, response.statusCode ?? 0, response.headers, await buffer(response), text)
  }
}

t.test('A sign-out uses its user’s place, even if many requests of its address wait', async (t) => {
  const own = await buildApp(t)
  const user = await own.user('ada')
  for (let places = 0; places < 8; places++) own.context.gate.requests.take(networkOf('127.0.0.1'))
  t.equal((await user.call('POST', logout)).status, 200)
  t.same(await own.context.database.db.selectFrom('tokens').selectAll().execute(), [])
})

t.test('A write whose body was still arriving at the sign-out is refused', async (t) => {
  t.equal(writes.length, 23)
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
  t.equal(status, 200, 'the refused delete kept the export')
})

t.test('A write whose login ends after all checks is refused', async (t) => {
  const { database } = context
  const { write } = database
  t.teardown(() => Object.assign(database, { write }))
  for (const { operationId, method, path, body } of writes) {
    const user = await app.user('ada')
    let before = ''
    const end = async () => {
      Object.assign(database, { write })
      await write((trx) => endLogin(trx, user))
      before = await snapshot(context)
    }
    Object.assign(database, { write: (...work: Parameters<typeof write>) => end().then(() => write(...work)) })
    const { cookie } = user
    const headers = { cookie, 'x-device-id': 'phone' }
    const { status, body: said } = await call(method, path, { headers, ...(body && { body }) })
    t.same([status, said], [401, invalid], operationId)
    t.equal(await snapshot(context), before, 'nothing is written')
  }
})

t.test('A write whose body is arriving succeeds if only another login of the user signs out', async (t) => {
  const operation = writes.find(({ operationId }) => operationId === 'createBookmark') as Operation
  const finish = await begin(operation, ada)
  await (await app.user('ada')).call('POST', logout)
  t.equal((await finish()).status, 201)
})

/** Begins a download of an endless export file, so that it keeps running. */
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

  t.test('at the sign-out, only its connection is cut off', async (t) => {
    const [ending, lasting] = [await beginDownload(here, path, size), await beginDownload(there, path, size)]
    await here.call('POST', logout)
    await t.rejects(ending.rest(), { message: 'terminated' })
    t.same([ending.body.destroyed, lasting.body.destroyed], [true, false])
    lasting.body.push('x'.repeat(size - 'begin'.length))
    t.equal((await lasting.rest())?.value?.length, size - 'begin'.length)
    lasting.body.push(null)
  })

  t.test('if the login ends before the download begins', async (t) => {
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

t.test('A logout ends every login whose valid cookie is sent', async (t) => {
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

t.test('A logout by bearer token ends the login completely: cookies, socket, arriving writes', async (t) => {
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
})

t.test("The end of a login does not wait behind the user's own writes", async (t) => {
  const { database } = context
  // On Postgres, two writes of a user run at once. On SQLite the queue is enough: while a write runs, some reads wait.
  const places = database.isServer ? 2 : 0
  const ends: Record<string, (owner: TestUser, other: TestUser) => Promise<Answered>> = {
    logout: (_, other) => other.call('POST', logout),
    endSession: (owner, { loginId }) => owner.call('DELETE', `/api/v1/account/sessions/${loginId}`),
    endOtherSessions: (owner) => owner.call('DELETE', '/api/v1/account/sessions'),
    deleteAccount: (owner) => owner.call('DELETE', '/api/v1/account'),
  }
  for (const [name, end] of Object.entries(ends)) {
    const [owner, other] = [await app.user(name), await app.user(name)]
    const goOn = Promise.withResolvers<void>()
    const isThere = async (trx: Trx) => (await holdLogin(trx, other)) !== undefined
    const held = Array.from({ length: places }, () => database.write(() => goOn.promise, owner.userId))
    let waiting: Promise<boolean>[] = []
    const stop = interceptWrites(context, ownerOfLogins(owner), (write) => {
      waiting = Array.from({ length: 3 }, () => database.write(isThere, owner.userId))
      return write()
    })
    let isEnded = false
    const answer = end(owner, other).finally(() => {
      isEnded = true
    })
    await until(() => isEnded || !database.isServer)
    goOn.resolve()
    await Promise.all(held)
    t.equal((await answer).status, 200)
    stop()
    t.equal((await Promise.all(waiting)).at(-1), false, `${name}: it ended before the last write`)
  }
})

t.test('A login can end busy logins of the same user, and other users do not wait meanwhile', async (t) => {
  const [first, ...thieves] = await Promise.all(Array.from({ length: 5 }, () => app.user('una')))
  const [owner, other] = [await app.user('una'), await app.user('other')]
  const { requests, free, freeOfLogin } = gate
  const goOn = Promise.withResolvers<void>()
  let writes = 0
  const hold = () =>
    interceptWrites(context, ownerOfLogins(owner), async (write) => {
      writes++
      await goOn.promise
      return write()
    })
  const madeUp = '/api/v1/account/sessions/01a226bc-1df8-71b7-b238-26a423609ccb'
  const floodOf = (thief?: TestUser) => Array.from({ length: 9 }, () => (thief as TestUser).call('DELETE', madeUp))
  let stop = hold()
  const flood = floodOf(first)
  await until(() => writes + freeOfLogin.load().waiting === 9)
  t.equal(writes, 2, 'of a login')
  stop()
  for (let count = 0; count < 8; count++) requests.take(owner.userId)
  t.equal((await owner.call('DELETE', `/api/v1/account/sessions/${first?.loginId}`)).status, 200)
  for (let count = 0; count < 8; count++) requests.release(owner.userId)
  stop = hold()
  flood.push(...thieves.flatMap(floodOf))
  await until(() => free.load().waiting + freeOfLogin.load().waiting + writes === flood.length)
  t.equal(writes, 8, 'of a user')
  stop()
  t.equal((await other.call('DELETE', '/api/v1/account/sessions')).status, 200)
  goOn.resolve()
  t.same(new Set((await Promise.all(flood)).map(({ status }) => status)), new Set([401, 404]))
})
