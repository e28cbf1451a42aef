/** Writes that share a transaction, of which some need more room than one makes: each is answered as if it were alone. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { fillAccount, type Sizes, usedBytes } from '../../bench/hostile/accounts.ts'
import { quotas } from '../../generated/limits.ts'
import type { Database } from '../../src/service/db/engine/database.ts'
import { findCounters } from '../../src/service/db/tables/users.ts'
import { usedBytes as usedOf } from '../../src/service/sync/usage.ts'
import { type Mended, recount } from '../../src/service/upkeep/recount.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pullAll, push } from '../support/changes.ts'
import { gatherWrites } from '../support/database.ts'
import { depth } from '../support/depth.ts'
import { pick } from '../support/pick.ts'

const sizes = { records: 60, versions: 49, trash: 0, devices: 1 } satisfies Sizes
const filled = usedBytes(sizes)
const maxBytesOfSmall = 2000

const data = (bytes: number) => ({ encrypted_data: 'x'.repeat(bytes), data_hash: 'a'.repeat(64) })

interface Write {
  send(user: TestUser, id: string): ReturnType<TestUser['call']>
  answer: { status: number; body?: object }
  /** How many entities it changes, and how many versions it adds. */
  changes: number
  versions: number
}

const bytes = fc.integer({ min: 1, max: maxBytesOfSmall })
const writes: Record<string, fc.Arbitrary<Write>> = {
  create: bytes.map((size) => ({
    send: (user, id) => user.call('POST', '/api/v1/bookmarks', { body: { id: `new ${id}`, ...data(size) } }),
    answer: { status: 201 },
    changes: 1,
    versions: 0,
  })),
  known: bytes.map((size) => ({
    send: (user, id) => user.call('POST', '/api/v1/bookmarks', { body: { id, ...data(size) } }),
    answer: { status: 409 },
    changes: 0,
    versions: 0,
  })),
  update: bytes.map((size) => ({
    send: (user, id) => user.call('PUT', `/api/v1/bookmarks/${id}`, { body: data(size) }),
    answer: { status: 200 },
    changes: 1,
    versions: 1,
  })),
  delete: fc.constant({
    send: (user, id) => user.call('DELETE', `/api/v1/bookmarks/${id}`),
    answer: { status: 200 },
    changes: 1,
    versions: 1,
  }),
  unknown: fc.constant({
    send: (user, id) => user.call('DELETE', `/api/v1/bookmarks/unknown ${id}`),
    answer: { status: 404 },
    changes: 0,
    versions: 0,
  }),
  losing: bytes.map((size) => ({
    send: (user, entity_id) => push(user, change({ entity_id, timestamp: 1, device_id: 'phone', ...data(size) })),
    answer: { status: 200, body: { accepted: 0 } },
    changes: 0,
    versions: 1,
  })),
}
/** Needs more room than a transaction makes, and yet shares one. */
const large: Write = {
  send: (user, id) =>
    push(user, ...[0, 1, 2, 3].map((n) => change({ entity_id: `large ${id}${n}`, ...data(257_000) }))),
  answer: { status: 200, body: { accepted: 4, conflicts: [] } },
  changes: 4,
  versions: 0,
}
const some = fc.array(fc.oneof(...Object.values(writes)), { minLength: 2, maxLength: 8 })

/** Whoever is opened has as many versions as `filled`, under this limit. */
async function openAt(t: Test, maxBytes: number) {
  const app = await buildApp(t, { MAX_USER_BYTES: `${maxBytes}` })
  const { database } = app.context
  const run = async (text: string) => void (await sql.raw(text).execute(database.db))
  const shared: number[] = []
  const { writeTogether } = app.context
  app.context.writeTogether = (trx, userId, take) =>
    writeTogether(trx, userId, () => {
      const intents = take()
      shared.push(intents.length)
      return intents
    })
  let people = 0
  const open = async (): Promise<TestUser> => {
    const user = await app.user(`ada ${++people}`)
    await fillAccount({ run, close: async () => {} }, user, sizes)
    return user
  }
  return { ...app, open, shared }
}

/** Whose counters were wrong. */
async function miscounted(database: Database): Promise<Mended[]> {
  return (await Array.fromAsync(recount(database))).filter((mended) => mended !== undefined)
}

for (const [name, maxBytes, script] of [
  [
    'a full account, of which one is large',
    filled,
    fc.tuple(some, fc.nat()).map(([writes, place]) => writes.toSpliced(place % writes.length, 0, large)),
  ],
  ['an account over a lowered limit', Math.floor(filled / 4), some],
] as const) {
  t.test(`Writes at one moment to ${name}: each is answered as if alone, and nothing is doubled`, async (t) => {
    const { context, open, shared } = await openAt(t, maxBytes)
    const { database } = context
    gatherWrites(context, 2)
    const property = fc.asyncProperty(script, async (script) => {
      const ada = await open()
      const { last_stamp: since } = await findCounters(database.db, ada.userId)
      const answers = await Promise.all(script.map(({ send }, index) => send(ada, `b${index}`)))
      for (const [index, { answer }] of script.entries()) assert.partialDeepStrictEqual(answers[index], answer)

      assert.deepEqual(await miscounted(database), [])
      const { changes } = await pullAll(ada, { since })
      assert.equal(
        changes.length,
        script.reduce((sum, { changes }) => sum + changes, 0),
      )
      assert.equal(new Set(pick(changes, 'entity_id')).size, changes.length, 'a change is there once')
      const versions = database.db.selectFrom('versions').select(['version_id', 'seq'])
      const kept = await versions.where('user_id', '=', ada.userId).execute()
      assert.equal(new Set(pick(kept, 'version_id')).size, kept.length, 'so is a version')
      const made = kept.filter(({ seq }) => seq > since).length
      assert.equal(
        made,
        script.reduce((sum, { versions }) => sum + versions, 0),
      )

      const used = usedOf(await findCounters(database.db, ada.userId))
      if (changes.some(({ operation }) => operation !== 'delete')) assert.ok(used <= maxBytes, `${used} are too many`)
      // Each may have erased a part of a version more than it needed.
      const slack = script.length * (maxBytesOfSmall + 4 * (quotas.rowBytes + 1))
      assert.ok(used > maxBytes - slack, `${used} of ${maxBytes}: more is gone than was in the way`)
    })
    await fc.assert(property, { numRuns: depth(15, 200) })
    t.ok(Math.max(...shared) > 1, 'they did share a transaction')
  })
}

t.test('Those that need no room do not wait for it', async (t) => {
  const { context, open, shared } = await openAt(t, Math.floor(filled / 4))
  const ada = await open()
  const { database } = context
  const { write } = database
  gatherWrites(context, 4)
  const [others, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  database.write = async (work, owner) => {
    asked.resolve()
    await others.promise
    return write(work, owner)
  }
  const create = ada.call('POST', '/api/v1/bookmarks', { body: { id: 'new', ...data(1) } })
  const deleted = await Promise.all(['b0', 'b1', 'b2'].map((id) => ada.call('DELETE', `/api/v1/bookmarks/${id}`)))
  t.same(pick(deleted, 'status'), [200, 200, 200])
  await asked.promise
  t.equal(Math.max(...shared), 4, 'all shared a transaction, which was undone')
  others.resolve()
  t.equal((await create).status, 201)
  t.same(await miscounted(database), [])
  t.ok(usedOf(await findCounters(database.db, ada.userId)) <= filled / 4)
})
