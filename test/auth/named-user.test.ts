import t from 'tap'
import { operations as contract } from '../../generated/operations.ts'
import { allOperations, furnish } from '../hostile/requests.ts'
import { openDevice } from '../realtime/device.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { snapshot } from '../support/database.ts'

const app = await buildApp(t)
const [ada, bob] = [await app.user('ada'), await app.user('bob')]
const ids = await furnish(bob, 'bob')
const refused = [403, { error: 'Forbidden user' }]
/** Both cookies for each path. A browser sends the refresh cookie only to paths under `/api/v1/auth`. */
const cookiesOf = ({ session, refresh }: TestUser) => `service_session=${session}; service_refresh=${refresh}`
const named = ({ userId }: Pick<TestUser, 'userId'>) => ({ 'x-user-id': userId })
/** Not tested here: the first four have no session, and test/hostile/two-users.test.ts tests the socket's upgrade. */
const notTested = ['startLogin', 'completeLogin', 'getHealth', 'reservePairing', 'openRealtime']

t.test("Every operation refuses a request that names another user than its session's, and does nothing", async (t) => {
  const before = await snapshot(app.context)
  const refusedIn: string[] = []
  for (const { operationId, method, path, body } of allOperations(ids)) {
    if (notTested.includes(operationId)) continue
    for (const userId of [ada.userId, '', `${bob.userId}, ${ada.userId}`, bob.userId.toUpperCase()]) {
      const headers = { cookie: cookiesOf(bob), 'x-user-id': userId, 'x-device-id': 'laptop' }
      const answer = await app.call(method, path, { headers, ...(body && { body }) })
      t.same([answer.status, answer.body], refused, `${operationId} for ${userId}`)
      t.equal(answer.headers['x-error-code'], 'ForbiddenUser')
      t.notOk(answer.headers['set-cookie'], 'the cookies stay')
    }
    refusedIn.push(operationId)
  }
  t.same([...refusedIn, ...notTested].sort(), Object.keys(contract).sort(), 'every operation of the contract')
  t.equal(await snapshot(app.context), before, 'no data has changed')
})

t.test('A request that names its own user works as without the name', async (t) => {
  const cy = await app.user('cy')
  const hers = await furnish(cy, 'cy')
  const others = [...notTested, 'endOtherSessions', 'logout', 'deleteAccount']
  for (const { operationId, method, path, body } of allOperations(hers)) {
    if (others.includes(operationId)) continue
    const headers = { cookie: cookiesOf(cy), ...named(cy), 'x-device-id': 'laptop' }
    const { status } = await app.call(method, path, { headers, ...(body && { body }) })
    t.not(status, 403, operationId)
  }
  const socket = await openDevice(t, await app.listen(), cy)
  t.ok(socket, 'the realtime channel opens')
  const loggedOut = await app.call('POST', '/api/v1/auth/logout', { headers: { cookie: cookiesOf(cy), ...named(cy) } })
  t.equal(loggedOut.status, 200)
  t.equal((await cy.call('GET', '/api/v1/bookmarks')).status, 401)
})

t.test('A sign-out with cookies of two users ends only the logins of the named one', async (t) => {
  const [dan, eve] = [await app.user('dan'), await app.user('eve')]
  const cookie = `${cookiesOf(dan)}; ${cookiesOf(eve)}`
  const answer = await app.call('POST', '/api/v1/auth/logout', { headers: { cookie, ...named(dan) } })
  t.equal(answer.status, 200)
  t.equal((await dan.call('GET', '/api/v1/bookmarks')).status, 401)
  t.equal((await eve.call('GET', '/api/v1/bookmarks')).status, 200)
})
