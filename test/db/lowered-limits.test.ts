import fc from 'fast-check'
import t from 'tap'
import { acceptLimits, guardLimits, listAnnounced } from '../../src/service/operating/limits-guard.ts'
import { startSweeps } from '../../src/service/upkeep/sweeps.ts'
import { buildApp, type TestApp, type TestUser } from '../support/app.ts'
import { runCommand } from '../support/command.ts'
import { depth } from '../support/depth.ts'
import { replaceKeyring } from '../support/keyrings.ts'
import { folder } from '../support/service.ts'
import { openTestDatabase } from './fixture.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

async function sweep({ context }: TestApp): Promise<void> {
  const sweeps = startSweeps(context)
  await sweeps.first
  await sweeps.close()
}

const warningsOf = ({ log }: TestApp) => log.filter((line) => line.includes('"level":40') && line.includes('less than'))

async function put(user: TestUser, id: string, size = 4) {
  const body = { encrypted_data: 'x'.repeat(size), data_hash: 'h' }
  const { status } = await user.call('PUT', `/api/v1/bookmarks/${id}`, { body })
  if (status !== 200) throw new Error(`the edit got ${status}`)
}

/** A user with five old versions of a bookmark and one of the keyring, all of this age. */
async function withVersions(app: TestApp, ageMs: number): Promise<TestUser> {
  const ada = await app.user('ada')
  const { body } = await ada.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'xxxx', data_hash: 'h' } })
  for (let edit = 0; edit < 5; edit++) await put(ada, body.id)
  await replaceKeyring(ada, 2)
  const { db } = app.context.database
  await db
    .updateTable('versions')
    .set(({ eb }) => ({ stored_at: eb('stored_at', '-', ageMs) }))
    .execute()
  await db
    .updateTable('keyring_versions')
    .set(({ eb }) => ({ replaced_at: eb('replaced_at', '-', ageMs) }))
    .execute()
  return ada
}

async function kept({ context: { database } }: TestApp): Promise<[versions: number, keyrings: number]> {
  const [versions, keyrings] = [database.db.selectFrom('versions'), database.db.selectFrom('keyring_versions')]
  const count = async (rows: { selectAll(): { execute(): Promise<unknown[]> } }) =>
    (await rows.selectAll().execute()).length
  return [await count(versions), await count(keyrings)]
}

async function doctor(t: Parameters<typeof runCommand>[0], { dataDir }: TestApp, env: Record<string, string>) {
  const { stdout } = await runCommand(t, 'doctor', ['--json'], { DATA_DIR: dataDir, ...env })
  return JSON.parse(stdout).filter(({ about }: { about: string }) => about === 'limits')
}

t.test('A smaller KEEP_VERSIONS_DAYS erases nothing until the log has announced it for a day', async (t) => {
  const dataDir = await folder(t)
  const first = await buildApp(t, {}, { dataDir })
  const ada = await withVersions(first, 10 * dayMs)
  await first.close()
  const lower = { KEEP_VERSIONS_DAYS: '7' }
  const asked = await doctor(t, first, lower)
  t.match(asked, [
    {
      state: 'warning',
      says: /^KEEP_VERSIONS_DAYS is 7 instead of 30: from a day after the next start on, .*: 5 versions and deleted bookmarks and 1 replaced keyrings of 1 users$/,
    },
  ])
  t.match(asked[0].todo, /set KEEP_VERSIONS_DAYS=30, or start the service and accept it: .*accept-limits --yes/)

  const app = await buildApp(t, lower, { dataDir })
  t.same(await kept(app), [5, 1])
  t.match(warningsOf(app), [/KEEP_VERSIONS_DAYS is 7, less than the 30 so far, which stay in force until /])
  t.equal((await app.as(ada).call('GET', '/api/v1/account')).body.limits.version_days, 30, 'apps see the old limit')
  t.match((await doctor(t, app, lower))[0].says, /: from \d{4}-\S+Z on, this is erased/)
  const start = Date.now()
  app.setClock(start + 23 * hourMs)
  await sweep(app)
  t.same([await kept(app), warningsOf(app).length], [[5, 1], 2])
  await app.close()

  const back = await buildApp(t, {}, { dataDir, now: start + 24 * hourMs })
  t.same([await kept(back), warningsOf(back)], [[5, 1], []], 'an operator who restores the old limit loses nothing')
  await back.close()
  const again = await buildApp(t, lower, { dataDir, now: start + 25 * hourMs })
  t.same(await kept(again), [5, 1], 'lowered again, it is announced for another day')
  again.setClock(start + 50 * hourMs)
  await sweep(again)
  t.same(await kept(again), [0, 0])
  t.ok(again.log.some((line) => line.includes('KEEP_VERSIONS_DAYS is 7 from now on')))
  t.equal((await again.as(ada).call('GET', '/api/v1/account')).body.limits.version_days, 7)
  await again.close()
  t.same(await doctor(t, again, lower), [])
})

t.test('A smaller MAX_USER_BYTES erases nothing until an operator accepts it', async (t) => {
  const dataDir = await folder(t)
  const first = await buildApp(t, {}, { dataDir })
  const ada = await withVersions(first, 0)
  await first.close()
  const lower = { MAX_USER_BYTES: '1100' }
  const app = await buildApp(t, lower, { dataDir })
  const her = app.as(ada)
  const create = () => her.call('POST', '/api/v1/bookmarks', { body: { encrypted_data: 'x', data_hash: 'h' } })
  t.equal((await create()).status, 201)
  t.same(await kept(app), [5, 1])
  t.match(warningsOf(app), [/MAX_USER_BYTES is 1100, less than the 2147483648 so far/])
  t.match(await doctor(t, app, lower), [
    { state: 'warning', says: /: 2509 bytes of versions and deleted bookmarks of 1 users, each/ },
  ])
  const accept = (env: Record<string, string>, ...words: string[]) =>
    runCommand(t, 'admin', ['accept-limits', ...words], { DATA_DIR: dataDir, ...env })
  const shown =
    /^MAX_USER_BYTES is 1100 instead of 2147483648; this is erased for good: 2509 bytes of versions and deleted bookmarks of 1 users/
  const asks = { code: 1, stdout: shown, stderr: /nothing was changed: --yes puts this in force at once/ }
  t.match(await accept(lower), asks)
  t.match(await accept({}), asks, "the command does not need the service's environment")
  t.equal((await doctor(t, app, lower)).length, 1)
  t.match(
    await accept({ MAX_USER_BYTES: '5' }, '--yes'),
    { code: 0, stdout: shown },
    "the service's value counts, not the command's",
  )
  t.match(await accept(lower, '--yes'), { code: 0, stdout: /^nothing to accept/ })
  t.match(await accept({ MAX_USER_BYTES: '5' }, '--yes'), {
    code: 1,
    stderr: /the service has not announced MAX_USER_BYTES=5 yet: start it with that/,
  })
  t.same(await doctor(t, app, lower), [])
  await sweep(app)
  t.equal((await her.call('GET', '/api/v1/account')).body.limits.stored_bytes, 1100)
  const { body } = await her.call('GET', '/api/v1/bookmarks')
  await put(her, body.data[0].id)
  t.same(await kept(app), [0, 1])
})

t.test('However limits and the clock change, a smaller limit holds only after a day of announcement', async (t) => {
  const { database } = await openTestDatabase(t)
  const step = fc.record({
    days: fc.integer({ min: 1, max: 4 }),
    hours: fc.integer({ min: 1, max: 15 }),
    accepts: fc.boolean(),
    jumps: fc.boolean(),
  })
  const log = { warn() {} } as never
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      await database.db.deleteFrom('limits_in_force').execute()
      let [now, inForce, announced, since] = [0, 0, 0, 0]
      for (const { days, hours, accepts, jumps } of steps) {
        now += hours * hourMs
        const config = { keepVersionsDays: days, maxUserBytes: 1 } as never
        const clockGuard = { jumpMs: () => Number(jumps), behindMs: () => 0 }
        const guard = await guardLimits({ config, database, clockGuard, clock: () => now, log })
        const atStart = guard.config.keepVersionsDays
        await guard.judge()
        if (days !== announced) [announced, since] = [days, now]
        const mayFall = !jumps && now - since >= dayMs
        if (days >= inForce || mayFall) inForce = days
        if (guard.config.keepVersionsDays !== inForce || atStart < inForce)
          throw new Error(`${guard.config.keepVersionsDays} instead of ${inForce}`)
        if (!accepts) continue
        await acceptLimits(database, await listAnnounced(database.db))
        inForce = days
      }
    }),
    { numRuns: depth(100, 5000) },
  )
})
