import fc from 'fast-check'
import t from 'tap'
import { quotas } from '../../generated/limits.ts'
import { reseal } from '../../src/service/upkeep/reseal.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { depth } from '../support/depth.ts'
import { keyringOf } from '../support/keyrings.ts'
import { sweepRows } from '../support/sweeps.ts'
import { until } from '../support/until.ts'
import first from '../vectors/keyring.json' with { type: 'json' }
import rotated from '../vectors/rotated.json' with { type: 'json' }

const path = '/api/v1/account/keyring'
const versionsPath = `${path}/versions`
const dayMs = 86_400_000
const app = await buildApp(t, { KEEP_VERSIONS_DAYS: '5' })
const { context } = app
t.afterEach(() => app.setClock(undefined))

async function put({ call }: TestUser, keyring: string, revision: number) {
  const { status, body } = await call('PUT', path, { body: { keyring, revision } })
  return [status, body]
}

async function versionsOf({ call }: TestUser): Promise<{ id: string; revision: number }[]> {
  return (await call('GET', versionsPath)).body.versions
}

const revisionsOf = async (user: TestUser) => (await versionsOf(user)).map(({ revision }) => revision)
const makeSignInsOld = () => app.setClock(Date.now() + quotas.recentSignInSeconds * 1000 + 1000)
const invalid = [400, { error: 'Invalid request body' }]
const tooOld = [403, { error: 'Sign in again' }]

t.test('Junk cannot replace a keyring, and a replaced keyring can be restored unchanged', async (t) => {
  const ada = await app.user('ada')
  const { keyring } = first
  const hasKeyring = async () => (await ada.call('GET', '/api/v1/auth/session')).body.has_keyring
  t.equal(await hasKeyring(), false)
  t.equal((await put(ada, keyring, 1))[0], 200)
  t.equal(await hasKeyring(), true)
  makeSignInsOld()
  t.same(await put(ada, 'x', 2), tooOld)
  t.same(await put(ada, keyringOf('of somebody who found the device'), 2), tooOld)
  const recent = await app.user('ada')
  t.same(await put(recent, 'x', 2), invalid)
  t.equal((await put(recent, keyringOf('which nothing opens'), 2))[0], 200)

  const [version] = await versionsOf(ada)
  const restore = ({ call }: TestUser) => call('POST', `${versionsPath}/${version?.id}/restore`)
  const refused = await restore(ada)
  t.same([refused.status, refused.body], tooOld)
  const restored = await restore(recent)
  t.same([restored.status, restored.body], [200, { keyring, revision: 3 }])
  t.same((await ada.call('GET', path)).body, { keyring, revision: 3 })
  t.same(await revisionsOf(ada), [2], 'the restore can be undone, too')
  const again = await restore(recent)
  t.same([again.status, again.body], [200, { keyring, revision: 3 }], 'a retry gets the same answer')
  t.same(await revisionsOf(ada), [2])
})

t.test('A restored keyring that is replaced is kept once, and its id restores it again', async (t) => {
  const lea = await app.user('lea')
  for (const revision of [1, 2]) await put(lea, keyringOf(`${revision}`), revision)
  const [first] = await versionsOf(lea)
  const restore = async (id = '') => (await lea.call('POST', `${versionsPath}/${id}/restore`)).body
  for (const _ of ['first', 'again']) t.same(await restore(first?.id), { keyring: keyringOf('1'), revision: 3 })
  await put(lea, keyringOf('4'), 4)
  t.same(await revisionsOf(lea), [3, 2])
  t.equal((await versionsOf(lea))[0]?.id, first?.id)
  for (const _ of ['first', 'again']) t.same(await restore(first?.id), { keyring: keyringOf('1'), revision: 5 })
  await lea.call('DELETE', versionsPath)
  t.equal((await lea.call('POST', `${versionsPath}/${first?.id}/restore`)).status, 404)
  t.same((await lea.call('GET', path)).body, { keyring: keyringOf('1'), revision: 5 })
})

t.test('The list of keyrings has the key of each', async (t) => {
  const kay = await app.user('kay')
  for (const [index, { keyring }] of [first, rotated, first].entries()) await put(kay, keyring, index + 1)
  const { key_id } = JSON.parse(rotated.keyring)
  t.match(await versionsOf(kay), [{ revision: 2, key_id }, { revision: 1 }])
  t.notOk('key_id' in ((await versionsOf(kay))[1] ?? {}))
})

t.test('At most 20 earlier keyrings are kept for KEEP_VERSIONS_DAYS, encrypted and never returned', async (t) => {
  const [ada, bob] = [await app.user('ida'), await app.user('bob')]
  const marks = Array.from({ length: quotas.keyringVersions + 3 }, (_, n) => `mark-of-${n}-`)
  for (const [index, mark] of marks.entries()) t.equal((await put(ada, keyringOf(mark), index + 1))[0], 200)
  const kept = await versionsOf(ada)
  const newest = marks.length - 1
  t.same(
    kept.map(({ revision }) => revision),
    Array.from({ length: quotas.keyringVersions }, (_, n) => newest - n),
  )
  const { raw, body } = await ada.call('GET', versionsPath)
  t.notMatch(raw.toString(), /mark-of|format/)
  t.equal(body.versions[0].erased_at - body.versions[0].replaced_at, 5 * dayMs)
  const { rows } = await allOf(ada.userId)
  t.equal(rows.length, quotas.keyringVersions)
  t.notMatch(JSON.stringify(rows), /mark-of|format/)
  t.notMatch(Buffer.from(rows.map(({ keyring_sealed }) => keyring_sealed).join(''), 'base64url').toString(), /mark-of/)

  t.same(await versionsOf(bob), [])
  t.equal((await bob.call('POST', `${versionsPath}/${kept[0]?.id}/restore`)).status, 404)
  t.equal((await put(bob, keyringOf('of bob'), 1))[0], 200)
  t.equal((await bob.call('POST', `${versionsPath}/${kept[0]?.id}/restore`)).status, 404)
  t.equal((await bob.call('DELETE', versionsPath)).status, 200)
  t.equal((await versionsOf(ada)).length, quotas.keyringVersions)

  app.setClock(Date.now() + 5 * dayMs + 1)
  t.same(await versionsOf(ada), [], 'expired keyrings are not listed even before a sweep')
  t.equal((await (await app.user('ida')).call('POST', `${versionsPath}/${kept[0]?.id}/restore`)).status, 404)
  await sweepRows(context.database, Date.now() + 4 * dayMs, { keepVersionsDays: 5 })
  t.equal((await allOf(ada.userId)).rows.length, quotas.keyringVersions)
  await sweepRows(context.database, Date.now() + 5 * dayMs + 1, { keepVersionsDays: 5 })
  t.same((await allOf(ada.userId)).rows, [])
})

async function allOf(userId: string) {
  const rows = await context.database.db
    .selectFrom('keyring_versions')
    .selectAll()
    .where('user_id', '=', userId)
    .execute()
  return { rows }
}

t.test('After a rotation for a lost device, its owner erases the earlier keyrings', async (t) => {
  const [zoe, old] = [await app.user('zoe'), await app.user('zoe')]
  await put(zoe, keyringOf('1'), 1)
  await put(zoe, keyringOf('2'), 2)
  makeSignInsOld()
  const refused = await old.call('DELETE', versionsPath)
  t.same([refused.status, refused.body], tooOld)
  const recent = await app.user('zoe')
  for (const _ of ['first', 'again']) t.equal((await recent.call('DELETE', versionsPath)).status, 200)
  t.same(await versionsOf(zoe), [])
  t.match((await zoe.call('GET', path)).body, { revision: 2 })
})

t.test('A deleted account leaves no earlier keyring, and one in another user’s row cannot be decrypted', async (t) => {
  const [kim, lou] = [await app.user('kim'), await app.user('lou')]
  for (const user of [kim, lou])
    for (const revision of [1, 2, 3]) await put(user, keyringOf(`${user.userId} ${revision}`), revision)
  const [taken, left] = await versionsOf(kim)
  await context.database.write(async (trx) => {
    const moved = trx.updateTable('keyring_versions').set({ user_id: lou.userId, revision: 2 })
    await trx.deleteFrom('keyring_versions').where('user_id', '=', lou.userId).where('revision', '=', 2).execute()
    await moved.where('id', '=', taken?.id ?? '').execute()
  })
  t.same(await revisionsOf(lou), [1], "other users' keyrings are still there")
  const { status, body } = await lou.call('POST', `${versionsPath}/${taken?.id}/restore`)
  t.same([status, body], [404, { error: 'Keyring not found' }])
  t.match((await lou.call('GET', path)).body, { revision: 3 })
  t.match(await versionsOf(kim), [{ id: left?.id }])

  t.equal((await kim.call('DELETE', '/api/v1/account')).status, 200)
  await until(async () => (await allOf(kim.userId)).rows.length === 0)
  t.equal((await allOf(lou.userId)).rows.length, 2)
})

t.test('Earlier keyrings can be restored after SECRET_KEY was changed', async (t) => {
  const [older, newer] = [1, 2].map((fill) => Buffer.alloc(32, fill)) as [Buffer, Buffer]
  const before = await buildApp(t, { SECRET_KEY: older.toString('base64') })
  const user = await before.user('ada')
  for (const revision of [1, 2]) await put(user, keyringOf(`${revision}`), revision)
  await reseal(before.context.database, [newer, older])
  const { dataDir } = before
  await before.close()
  const after = await buildApp(t, { SECRET_KEY: newer.toString('base64') }, { dataDir })
  const ada = after.as(user)
  const [version] = await versionsOf(ada)
  const { status, body } = await ada.call('POST', `${versionsPath}/${version?.id}/restore`)
  t.same([status, body], [200, { keyring: keyringOf('1'), revision: 3 }])
})

t.test('After any stores, restores and erasures, no keyring is lost before its time', async (t) => {
  let users = 0
  const steps = fc.array(fc.constantFrom('store', 'restore the last', 'restore the first', 'erase'), { maxLength: 12 })
  const check = async (run: string[]) => {
    const user = await app.user(`walker-${users++}`)
    let current: { keyring: string; revision: number } | undefined
    let kept: { keyring: string; revision: number }[] = []
    for (const [index, step] of run.entries()) {
      const versions = await versionsOf(user)
      if (step === 'store') {
        const next = { keyring: keyringOf(`${index}`), revision: (current?.revision ?? 0) + 1 }
        await put(user, next.keyring, next.revision)
        if (current) kept.unshift(current)
        current = next
      } else if (step === 'erase') {
        await user.call('DELETE', versionsPath)
        kept = []
      } else {
        const place = step === 'restore the last' ? 0 : versions.length - 1
        const [version, expected] = [versions[place], kept[place]]
        if (!version || !expected || !current) continue
        await user.call('POST', `${versionsPath}/${version.id}/restore`)
        kept = [current, ...kept.filter((one) => one !== expected)]
        current = { keyring: expected.keyring, revision: current.revision + 1 }
      }
      const stored = (await user.call('GET', path)).body
      if (current) t.same(stored, current)
      t.same(
        await revisionsOf(user),
        kept.map(({ revision }) => revision),
      )
    }
  }
  await fc.assert(fc.asyncProperty(steps, check), { numRuns: depth(6, 200) })
})
