import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { depth } from '../support/depth.ts'
import { holdClock } from '../support/intervals.ts'
import { intercept, openTestDatabase } from './fixture.ts'

/** A database, and the names of the writes in each of its transactions. */
async function open(t: Test) {
  // A transaction that has taken long accepts no more writes. With a stopped clock, none takes long.
  holdClock(t)
  const transactions: string[][] = []
  intercept(t, (sql) => sql.startsWith('begin') && transactions.push([]))
  const { database } = await openTestDatabase(t)
  transactions.length = 0
  const write = (owner: string, name: string, isLarge = false, until = Promise.resolve()) =>
    database.write(
      async () => {
        transactions.at(-1)?.push(name)
        await until
      },
      owner,
      isLarge,
    )
  return { transactions, write }
}

interface Arrival {
  owner: string
  isLarge: boolean
}

const arrival = fc.record({ owner: fc.constantFrom('ada', 'bob', 'cleo', 'dan'), isLarge: fc.boolean() })
const events = fc.array(fc.oneof(arrival, fc.constant<'turn'>('turn')), { maxLength: 60 })

interface Noted extends Arrival {
  name: string
  /** The number of transactions that had begun when this write arrived. */
  begun: number
  /** True if its owner had a large write waiting already: an owner's writes run in order. */
  isBehind: boolean
}

t.test('Writes arrive in any order: a small write waits for at most one large write of other owners', async (t) => {
  const { transactions, write } = await open(t)
  await fc.assert(
    fc.asyncProperty(events, async (events) => {
      transactions.length = 0
      const writes: Noted[] = []
      const written: Promise<void>[] = []
      const hasBegun = (name: string) => transactions.some((names) => names.includes(name))
      for (const event of events) {
        if (event === 'turn') {
          await eventLoopTurn()
          continue
        }
        const { owner, isLarge } = event
        const name = `${owner} ${writes.length}`
        const isBehind = writes.some((other) => other.owner === owner && other.isLarge && !hasBegun(other.name))
        writes.push({ ...event, name, begun: transactions.length, isBehind })
        written.push(write(owner, name, isLarge))
      }
      await Promise.all(written)

      const large = new Set(writes.filter(({ isLarge }) => isLarge).map(({ name }) => name))
      const isLarge = (names: string[]) => names.some((name) => large.has(name))
      if (transactions.some((names) => isLarge(names) && names.length > 1)) throw new Error('a large one was not alone')
      for (const { name, begun } of writes.filter((one) => !one.isLarge && !one.isBehind)) {
        const own = transactions.findIndex((names) => names.includes(name))
        const waited = transactions.slice(Math.max(0, begun - 1), own).filter(isLarge)
        if (waited.length > 1) throw new Error(`${name} waited for ${waited.length} large writes`)
      }
    }),
    { numRuns: depth(200, 3_000) },
  )
})
