import fc from 'fast-check'
import t from 'tap'
import type { Schemas } from '../../src/service/contract/schemas.ts'
import { buildApp, type TestUser } from '../support/app.ts'
import { change, push } from '../support/changes.ts'
import { depth } from '../support/depth.ts'

/** The quota allows one of the two entities, so that some tombstones are not kept and some pushes are refused. */
const { user, setClock } = await buildApp(t, { MAX_USER_RECORDS: '1' })
/** The clock stands still, because the reasons of some conflicts name the server's time. */
const now = 1_800_000_000_000
setClock(now)

/** Few values per field, so that changes often collide: some events come twice, with equal or different content. */
const changes = fc.array(
  fc
    .record({
      id: fc.constantFrom('event-1', 'event-2', 'event-3', 'event-4', 'event-5', 'event-6'),
      entity_id: fc.constantFrom('x', 'x', 'y'),
      operation: fc.constantFrom('create' as const, 'update' as const, 'delete' as const),
      device_id: fc.constantFrom('device-a', 'device-b'),
      timestamp: fc.constantFrom(1000, 1001, 1002, now + 2 * 86_400_000),
      data_hash: fc.constantFrom('hash-1', 'hash-2'),
      encrypted_data: fc.constantFrom('data-1', 'data-2'),
    })
    .map(change),
  { maxLength: 6 },
)

async function answerTo(person: TestUser, changes: Schemas['Change'][]): Promise<string> {
  const { status, body } = await push(person, ...changes)
  return JSON.stringify([status, body])
}

t.test('A push that is sent twice gets the same answer both times, whatever was stored before', async (t) => {
  let run = 0
  const answers = new Set<string>()
  await fc.assert(
    fc.asyncProperty(changes, changes, async (earlier, retried) => {
      const person = await user(`person ${++run}`)
      await answerTo(person, earlier)
      const first = await answerTo(person, retried)
      answers.add(first)
      return (await answerTo(person, retried)) === first
    }),
    { numRuns: depth(40, 400) },
  )
  t.ok(answers.size > run / 4, `${answers.size} different answers in ${run} runs`)
})
