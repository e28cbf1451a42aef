/** The position of deep pages is cached, but a page always has the stored bookmarks. */
import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, pushMany } from '../support/changes.ts'
import { isPostgres } from '../support/database-url.ts'
import { depth } from '../support/depth.ts'

/** A few times the number of bookmarks after which positions are cached. */
const count = 3500
const began = Date.now() - 1_000_000

const place = fc.nat({ max: count + 200 })
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('look' as const), place, limit: fc.integer({ min: 1, max: 40 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('create' as const, 'delete' as const), place }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** The creation time of each live bookmark. */
type Model = Map<string, number>

t.test('After any writes, a deep page equals that part of the full list', async (t) => {
  const app = await buildApp(t)
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 20 }), async (steps) => {
      const ada = await app.user(`ada ${++run}`)
      const model = await fill(ada)
      for (const next of steps) await play(ada, model, next)
    }),
    { numRuns: depth(isPostgres ? 3 : 8, 300) },
  )
  t.pass(`${run} scripts`)
})

t.test('After a database was replaced under a running service, deep pages are right', async (t) => {
  const { context, user } = await buildApp(t)
  const ada = await user('ada')
  const model = await fill(ada)
  await look(ada, model, count - 1, 1)
  const [newest] = sorted(model)
  model.delete(newest as string)
  // Simulates the restore of a backup: one bookmark fewer, with the same last sequence number and a new epoch.
  const { db } = context.database
  await db
    .updateTable('records')
    .set({ deleted_at: began })
    .where('entity_id', '=', newest as string)
    .execute()
  await db.updateTable('users').set({ live_bookmarks: model.size }).execute()
  await db.updateTable('epoch').set({ id: 'another' }).execute()
  await look(ada, model, count - 2, 1)
  t.pass()
})

async function fill(ada: TestUser): Promise<Model> {
  const model: Model = new Map()
  // Groups of bookmarks have the same creation time, as after an import.
  for (let id = 0; id < count; id++) model.set(`${id}`, began + Math.floor(id / 10) * 100)
  const changes = [...model].map(([entity_id, timestamp]) => change({ entity_id, timestamp }))
  await pushMany(ada, changes)
  return model
}

async function play(ada: TestUser, model: Model, next: Step): Promise<void> {
  if (next.do === 'look') return look(ada, model, next.place, next.limit)
  if (next.do === 'create') {
    const [entity_id, timestamp] = [`new ${model.size} ${next.place}`, began + next.place * 10]
    if (model.has(entity_id)) return
    model.set(entity_id, timestamp)
    return pushMany(ada, [change({ entity_id, timestamp })])
  }
  const entity_id = [...model.keys()][next.place]
  if (entity_id === undefined) return
  model.delete(entity_id)
  return pushMany(ada, [change({ entity_id, operation: 'delete', timestamp: Date.now() })])
}

/** Gets the page of this size that contains this place, and compares it with the model. */
async function look(ada: TestUser, model: Model, place: number, limit: number): Promise<void> {
  const page = Math.floor(place / limit) + 1
  const { body } = await ada.call('GET', `/api/v1/bookmarks?page=${page}&limit=${limit}`)
  assert.deepEqual(
    body.data.map(({ id }: { id: string }) => id),
    sorted(model).slice((page - 1) * limit, page * limit),
  )
  assert.deepEqual(body.meta, { total: model.size, page, limit })
}

/** The ids, newest first. */
function sorted(model: Model): string[] {
  const order = ([one, at]: [string, number], [other, then]: [string, number]) => then - at || (one < other ? 1 : -1)
  return [...model].sort(order).map(([id]) => id)
}
