import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ServiceError } from '../../src/service/contract/errors.ts'
import type { Database } from '../../src/service/db/engine/database.ts'
import { buildApp } from '../support/app.ts'
import { isPostgres } from '../support/database-url.ts'
import { holdTime } from '../support/intervals.ts'
import { pick } from '../support/pick.ts'

async function open(t: Test): Promise<Database> {
  return (await buildApp(t)).context.database
}

/** Holds all transactions that ada may have at a time. Returns a function that ends them. */
async function holdAll({ write, isServer }: Database) {
  const goOn = Promise.withResolvers<void>()
  const places = isServer ? 2 : 1
  const begun = Array.from({ length: places }, () => Promise.withResolvers<void>())
  const held = begun.map(({ resolve }) =>
    write(async () => {
      resolve()
      await goOn.promise
    }, 'ada'),
  )
  await Promise.all(begun.map(({ promise }) => promise))
  return async () => {
    goOn.resolve()
    await Promise.all(held)
  }
}

t.test('At most 512 writes of one owner wait; further ones are refused as Overloaded', async (t) => {
  const database = await open(t)
  const end = await holdAll(database)
  let done = 0
  const writes = Array.from({ length: 515 }, () => database.write(async () => void done++, 'ada'))
  const outcomes = Promise.allSettled(writes)
  await eventLoopTurn()
  t.equal(database.load().waiting, 512)
  const others = database.write(async () => 'his', 'bob')
  await end()
  const refused = (await outcomes).flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  t.same(pick(refused, 'code'), Array(3).fill(new ServiceError('Overloaded').code))
  t.equal(done, 512)
  t.equal(await others, 'his')
  t.equal(database.load().waiting, 0)
})

t.test('A write that has waited 10 s for its turn is refused, and its turn passes to the next', async (t) => {
  // Before the database opens: its queue creates its interval at once.
  const passes = holdTime(t)
  const database = await open(t)
  const end = await holdAll(database)
  const done: string[] = []
  const write = (name: string) => database.write(async () => void done.push(name), 'ada')
  const late = write('late').catch((error) => error.code)
  passes(1)
  const inTime = write('in time')
  passes(8)
  await eventLoopTurn()
  t.equal(database.load().waiting, 2)
  passes(1)
  t.equal(await late, 'Overloaded')
  t.equal(database.load().waiting, 1)
  await end()
  await inTime
  t.same(done, ['in time'])
  passes(60)
  await write('later')
  t.equal(done.at(-1), 'later', 'later writes run at once')
})

t.test('While the writes of one owner wait, those of other owners and of the service go on', async (t) => {
  if (!isPostgres) return t.comment('SKIPPED: SQLite has one writer')
  const database = await open(t)
  const end = await holdAll(database)
  const waiting = database.write(async () => 'hers', 'ada')
  t.equal(await database.write(async () => 'his', 'bob'), 'his')
  t.equal(await database.write(async () => 'the service’s'), 'the service’s')
  await end()
  t.equal(await waiting, 'hers')
})
