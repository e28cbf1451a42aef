import { sql } from 'kysely'
import t from 'tap'
import { deleteDevice } from '../../src/service/db/tables/devices.ts'
import { allOperations, furnish } from '../hostile/requests.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { blocksAnother, interceptWrites } from '../support/database.ts'
import { holdIntervals } from '../support/intervals.ts'
import { until } from '../support/until.ts'

// The service itself would lock a login when it stores its last use.
holdIntervals(t)
const { context, user } = await buildApp(t)
const { db } = context.database

/** Sends the request while the user is locked: does it wait, and does it then hold the lock of a login? */
async function sendWhileLocked({ userId }: TestUser, send: () => Promise<unknown>) {
  const { answer, ...seen } = await db.transaction().execute(async (trx) => {
    await sql`update users set name = name where id = ${userId}`.execute(trx)
    let isWaiting = true
    const answer = send().finally(() => {
      isWaiting = false
    })
    await until(async () => !isWaiting || (await blocksAnother(trx)))
    const logins = trx.selectFrom('logins').select('id').where('user_id', '=', userId)
    const [all, free] = [await logins.execute(), await logins.forUpdate().skipLocked().execute()]
    return { answer: [answer], isWaiting, isHolding: free.length < all.length }
  })
  await Promise.all(answer)
  return seen
}

// The deletion of an account locks the user first. A write that locked the login first could deadlock with it.
t.test('No write holds the lock of a login while it waits for the lock of the user', async (t) => {
  const writes = allOperations(await furnish(await user('ada'), 'ada')).filter(
    ({ method, security }) => method !== 'GET' && security !== 'none',
  )
  const [waiting, holding]: [string[], string[]] = [[], []]
  for (const { operationId, method, path, body } of writes) {
    const ada = await user('ada')
    const headers = { cookie: `${ada.cookie}; service_refresh=${ada.refresh}`, 'x-device-id': 'phone' }
    const seen = await sendWhileLocked(ada, () => ada.call(method, path, { headers, ...(body && { body }) }))
    if (seen.isWaiting) waiting.push(operationId)
    if (seen.isHolding) holding.push(operationId)
  }
  t.same(holding, [])
  t.ok(waiting.includes('pushChanges') && waiting.includes('setExportKey'), `${waiting} wait`)
})

t.test('Nor does the pull of a device that is forgotten meanwhile', async (t) => {
  const bob = await user('bob')
  const pull = () => bob.call('POST', '/api/v1/sync/pull', { headers: { 'x-device-id': 'phone' } })
  await pull()
  await bob.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'x', data_hash: 'h' } })
  const forget = () => db.transaction().execute((trx) => deleteDevice(trx, bob.userId, 'phone'))
  t.teardown(interceptWrites(context, bob.userId, (write) => write((work) => forget().then(work))))
  t.same(await sendWhileLocked(bob, pull), { isWaiting: false, isHolding: false })
})
