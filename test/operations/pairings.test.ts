import { randomUUID } from 'node:crypto'
import t from 'tap'
import { pairingMs, reservedMs } from '../../src/protocol/pairing.ts'
import { done } from '../../src/service/operations/operation.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { snapshot } from '../support/database.ts'
import { holdClock, holdIntervals } from '../support/intervals.ts'
import { sweepRows } from '../support/sweeps.ts'
import { until } from '../support/until.ts'

const app = await buildApp(t)
const { context } = app
t.afterEach(() => app.setClock(undefined))

const notFound = [404, { error: 'Pairing not found' }]
const changed = [409, { error: 'Pairing was changed' }]
const textOf = (name: string) => Buffer.from(name).toString('base64')

async function send({ call }: TestUser, id: string, step: number, text = `step ${step}`) {
  const { status, body } = await call('PUT', `/api/v1/account/pairings/${id}`, {
    body: { step, message: textOf(text) },
  })
  return status === 200 ? [status, body.step, body.message] : [status, body]
}

async function get({ call }: TestUser, id: string) {
  const { status, body } = await call('GET', `/api/v1/account/pairings/${id}`)
  return status === 200 ? [status, body.step, body.message] : [status, body]
}

const is = (step: number, text = `step ${step}`) => [200, step, textOf(text)]

t.test('Two devices send messages in turn, and each message replaces the one before', async (t) => {
  const [page, phone] = [await app.user('ada'), await app.user('ada')]
  t.same(await get(phone, 'one'), notFound)
  t.same(await send(phone, 'one', 1), notFound, 'no pairing was begun')
  for (const [step, from, to] of [
    [0, page, phone],
    [1, phone, page],
    [2, page, phone],
  ] as const) {
    for (const _ of ['sent', 'sent again']) t.same(await send(from, 'one', step), is(step))
    t.same(await get(to, 'one'), is(step))
  }
  t.same(await send(page, 'one', 1), changed, 'an earlier one')
  t.same(await send(page, 'one', 2, 'another'), changed)
  t.same(await send(page, 'one', 1, 'step 2'), changed, 'a repeated message with another step')
  t.same(await send(page, 'one', 4), changed, 'one is missing')
  t.same(await send(page, 'one', 0), changed, 'a pairing cannot begin twice')
  t.same(await get(phone, 'one'), is(2))
  t.notMatch(await snapshot(context), textOf('step 1'), 'answered messages are erased')
})

t.test('If many devices scan one code, only one is answered', async (t) => {
  const page = await app.user('ada')
  const phones = await Promise.all(
    ['a', 'b', 'c', 'd', 'e', 'f'].map(async (name) => [name, await app.user('ada')] as const),
  )
  await send(page, 'race', 0)
  const answers = await Promise.all(phones.map(([name, phone]) => send(phone, 'race', 1, `phone ${name}`)))
  const taken = answers.filter(([status]) => status === 200)
  t.equal(taken.length, 1)
  t.same(
    answers.filter(([status]) => status !== 200),
    Array(5).fill(changed),
  )
  t.same(await get(page, 'race'), taken[0])
})

t.test('A pairing ends after two minutes without a message, and the sweep removes it', async (t) => {
  const ada = await app.user('ada')
  const start = Date.now()
  app.setClock(start)
  await send(ada, 'old', 0)
  app.setClock(start + pairingMs - 1)
  t.same(await send(ada, 'old', 1), is(1), 'the next message gets another two minutes')
  app.setClock(start + 2 * pairingMs - 2)
  t.same(await get(ada, 'old'), is(1))
  app.setClock(start + 2 * pairingMs - 1)
  t.same(await get(ada, 'old'), notFound)
  for (const step of [1, 2]) t.same(await send(ada, 'old', step), notFound)
  t.same(await send(ada, 'older', 0), is(0))
  app.setClock(start + 4 * pairingMs)
  t.same(await send(ada, 'older', 0, 'step 1'), is(0, 'step 1'), 'the id of an ended pairing can be used again')
  t.match(await snapshot(context), textOf('step 1'))
  await sweepRows(context.database, start + 5 * pairingMs)
  t.notMatch(await snapshot(context), textOf('step 1'))
})

async function reserve(id: string, { userId }: TestUser) {
  const { status, body } = await app.call('POST', `/api/v1/account/pairings/${id}/reservation`, {
    body: { user_id: userId },
  })
  return [status, body]
}

t.test('A reservation counts as the start of a sign-in, so that guessing ids is limited', async (t) => {
  // On a slow machine, the limit would refill.
  holdClock(t)
  const narrow = await buildApp(t, { RATE_LIMIT_PER_MINUTE: '8' })
  const guess = () =>
    narrow.call('POST', '/api/v1/account/pairings/guess/reservation', { body: { user_id: randomUUID() } })
  const statuses = [await guess(), await guess(), await guess()].map(({ status }) => status)
  t.same(statuses, [404, 404, 429])
})

t.test('Without a session, a caller who knows the id can reserve it until it is answered', async (t) => {
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  const reserved = [200, done]
  const start = Date.now()
  app.setClock(start)
  await send(ada, 'scanned', 0)
  const isReserved = async () =>
    (await ada.call('GET', '/api/v1/account/pairings/scanned')).body.reserved as boolean | undefined
  t.same(await reserve('another', ada), notFound)
  t.same(await reserve('scanned', bob), notFound, "another user's")
  t.equal(await isReserved(), false)
  app.setClock(start + pairingMs - 1)
  t.same(await reserve('scanned', ada), reserved)
  t.equal(await isReserved(), true)
  const until = start + pairingMs - 1 + reservedMs
  app.setClock(until - 1)
  t.same(await reserve('scanned', ada), reserved, 'a second reservation gives no more time')
  t.same(await get(ada, 'scanned'), is(0))
  app.setClock(until)
  t.same(await get(ada, 'scanned'), notFound)
  t.same(await reserve('scanned', ada), notFound)
  await send(ada, 'scanned', 0)
  t.equal(await isReserved(), false, 'the next pairing is not reserved')
  await reserve('scanned', ada)
  t.same(await send(ada, 'scanned', 1), is(1))
  t.same(await reserve('scanned', ada), notFound, 'the pairing has an answer')
  app.setClock(until + pairingMs)
  t.same(await get(ada, 'scanned'), notFound, 'the answer expires after two minutes')
})

async function end({ call }: TestUser, id: string) {
  const { status, body } = await call('DELETE', `/api/v1/account/pairings/${id}`)
  return [status, body]
}

t.test('Either device can end a pairing, and nothing of it is left', async (t) => {
  const [page, phone, bob] = [await app.user('ada'), await app.user('ada'), await app.user('bob')]
  await send(page, 'ended', 0, 'a greeting')
  await send(phone, 'ended', 1, 'an answer')
  for (const [user, id] of [
    [bob, 'ended'],
    [page, 'another'],
  ] as const)
    t.same(await end(user, id), [200, done])
  t.same(await get(page, 'ended'), is(1, 'an answer'), 'pairings of other users or with other ids are kept')
  t.same(await end(phone, 'ended'), [200, done])
  t.notMatch(await snapshot(context), textOf('an answer'))
  t.same(await get(page, 'ended'), notFound)
  t.same(await send(page, 'ended', 2), notFound)
  t.same(await end(page, 'ended'), [200, done], 'again')
  t.same(await end(page, 'x'.repeat(129)), notFound)
  await send(page, 'ended', 0)
  await phone.call('POST', '/api/v1/auth/logout')
  t.equal((await end(phone, 'ended'))[0], 401, 'a signed-out device cannot end it')
  t.same(await get(page, 'ended'), is(0))
})

t.test('An unended pairing is erased within three minutes, also while the clock is not believed', async (t) => {
  const passes = holdIntervals(t)
  const own = await buildApp(t)
  const ada = await own.user('ada')
  const start = Date.now()
  own.setClock(start)
  await send(ada, 'left', 0, 'what is left')
  const isLeft = async () => (await snapshot(own.context)).includes(textOf('what is left'))
  own.setClock(start + pairingMs - 1)
  passes(60)
  t.ok(await isLeft())
  own.context.clockGuard.isBelieved = async () => false
  own.setClock(start + pairingMs)
  passes(60)
  await until(async () => !(await isLeft()))
})

t.test('A user has one pairing: a new one replaces it', async (t) => {
  const [page, other] = [await app.user('ada'), await app.user('ada')]
  await send(page, 'first', 0)
  t.same(await send(other, 'second', 0), is(0))
  t.same(await get(page, 'first'), notFound)
  t.same(await send(page, 'first', 1), notFound)
  t.equal(
    (await context.database.db.selectFrom('pairings').selectAll().where('user_id', '=', page.userId).execute()).length,
    1,
  )
})

t.test('Other users cannot see or answer a pairing, and may use the same id for another one', async (t) => {
  const [ada, bob] = [await app.user('ada'), await app.user('bob')]
  await send(ada, 'same', 0, 'hers')
  t.same(await get(bob, 'same'), notFound)
  t.same(await send(bob, 'same', 1), notFound)
  t.same(await send(bob, 'same', 0, 'his'), is(0, 'his'))
  t.same(await send(bob, 'same', 1), is(1))
  t.same(await get(ada, 'same'), is(0, 'hers'))
})

t.test('The log has neither the id of a pairing nor its messages', async (t) => {
  const own = await buildApp(t, { LOG_LEVEL: 'trace' })
  const ada = await own.user('ada')
  await send(ada, 'id-of-a-pairing', 0, 'text of a message')
  await get(ada, 'id-of-a-pairing')
  t.match(own.log.join(''), /pairings/, 'the calls are logged')
  t.notMatch(own.log.join(''), /id-of-a-pairing/)
  t.notMatch(own.log.join(''), textOf('text of a message'))
})
