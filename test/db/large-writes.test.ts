import fc from 'fast-check'
import t from 'tap'
import type { Database, JointWork, Share, Trx } from '../../src/service/db/engine/database.ts'
import { createWriter } from '../../src/service/db/engine/writer.ts'
import { holdTime } from '../http/unread.ts'
import { depth } from '../support/depth.ts'
import { intercept, openTestDatabase } from './fixture.ts'

interface Named extends Share {
  name: string
}

/** More than shares a transaction. */
const many = 1001
type Size = 'small' | 'of many' | 'much of one'

function share(name: string, size: Size = 'small'): Named {
  const wanted = Array.from({ length: size === 'small' ? 1 : many }, (_, index) => `${name}-${index}`)
  const entities = size === 'much of one' ? new Map([[name, wanted]]) : new Map(wanted.map((key) => [key, [name]]))
  return { name, entities, bytes: 0 }
}

/** Writes nothing but notes who does, after `before`. */
function noting(note: (name: string) => void, before = async (_: string) => {}): JointWork<Named, void> {
  return async (_, owner, take) => {
    await before(owner)
    const taken = take()
    for (const { name } of taken) note(name)
    return taken.map(() => ({ status: 'fulfilled', value: undefined }))
  }
}

t.test(
  'While many large writes of one wait, others wait for the one that is being written, and share none',
  async (t) => {
    // However slow the machine is, no transaction is a long one, which takes no more.
    holdTime(t)
    const steps: string[] = []
    intercept(t, (sql) => steps.push(sql.replace(/ .*/, '')))
    const { database } = await openTestDatabase(t)
    steps.length = 0
    const goOn = Promise.withResolvers<void>()
    const hasBegun = Promise.withResolvers<void>()
    let turns = 0
    const work = noting(
      (name) => steps.push(name),
      async (owner) => {
        if (owner !== 'ada' || ++turns > 1) return
        hasBegun.resolve()
        await goOn.promise
      },
    )
    const write = (owner: string, name: string, size?: Size) => database.writeJointly(owner, share(name, size), work)
    const larges = Array.from({ length: 32 }, (_, index) =>
      write('ada', `large ${index}`, index % 2 === 0 ? 'of many' : 'much of one'),
    )
    await hasBegun.promise
    const others = [
      write('bob', 'bob’s'),
      write('cleo', 'cleo’s'),
      database.write(async () => void steps.push('any'), 'dan'),
    ]
    goOn.resolve()
    await Promise.all(others)
    const afterwards = steps.slice(0, steps.lastIndexOf('any') + 3)
    t.same(
      afterwards.filter((step) => !/savepoint|release/.test(step)),
      ['begin', 'large 0', 'commit', 'begin', 'bob’s', 'cleo’s', 'any', 'commit'],
    )
    await Promise.all(larges)
    t.equal(steps.filter((step) => step === 'commit').length, 33, 'each large one has a transaction of its own')
  },
)

interface Arrival {
  owner: string
  size: Size
}
type Event = Arrival | 'commit'

const arrival = fc.record({
  owner: fc.constantFrom('ada', 'bob', 'cleo', 'dan'),
  size: fc.constantFrom<Size>('small', 'of many', 'much of one'),
})
const events = fc.array(fc.oneof(arrival, fc.constant<'commit'>('commit')), { maxLength: 60 })

interface Noted extends Arrival {
  name: string
  /** The transactions that had begun when it came. */
  begun: number
  /** Its owner had a large one waiting, after which it comes. */
  isBehind: boolean
}

t.test('Whatever comes in whatever order: what is not large waits for one large write of others at most', async () => {
  await fc.assert(
    fc.asyncProperty(events, async (events) => {
      const { transactions, writes } = await play(events)
      const isLarge = new Map(writes.map(({ name, size }) => [name, size !== 'small']))
      const sizes = transactions.map((names) => names.map((name) => isLarge.get(name)))
      if (sizes.some((own) => own.includes(true) && own.length > 1)) throw new Error('a large one shared a transaction')
      for (const { name, begun, isBehind } of writes.filter(({ size, isBehind }) => size === 'small' && !isBehind)) {
        const own = transactions.findIndex((names) => names.includes(name))
        const waited = sizes.slice(Math.max(0, begun - 1), own).filter(([first]) => first)
        if (waited.length > 1) throw new Error(`${name} waited for ${waited.length} (${isBehind})`)
      }
    }),
    { numRuns: depth(300, 5_000) },
  )
})

/** A database with one writer, whose transactions end when they are told to. */
async function play(events: Event[]): Promise<{ transactions: string[][]; writes: Noted[] }> {
  const transactions: string[][] = []
  const writes: Noted[] = []
  let commit: (() => void) | undefined
  const writer: Pick<Database, 'writeJointly'> = createWriter({
    slots: { all: 1, ofOwner: 1, serviceWaits: true },
    async transact(first, more) {
      transactions.push([])
      const groups = [first]
      await first.run({} as Trx)
      for (let next = more(); next; next = more()) {
        groups.push(next)
        await next.run({} as Trx)
      }
      await new Promise<void>((resolve) => {
        commit = resolve
      })
      for (const group of groups) group.settle()
    },
    isUnavailable: () => false,
  })
  const isWritten = (name: string) => transactions.some((names) => names.includes(name))
  const work = noting((name) => transactions.at(-1)?.push(name))
  const written: Promise<void>[] = []
  const end = async () => {
    commit?.()
    commit = undefined
    for (let turn = 0; turn < 4; turn++) await new Promise(setImmediate)
  }
  for (const event of events) {
    if (event === 'commit') {
      await end()
      continue
    }
    const name = `${event.owner} ${writes.length}`
    const isBehind = writes.some(
      ({ owner, size, name }) => owner === event.owner && size !== 'small' && !isWritten(name),
    )
    writes.push({ ...event, name, begun: transactions.length, isBehind })
    written.push(writer.writeJointly(event.owner, share(name, event.size), work))
  }
  while (transactions.flat().length < writes.length) await end()
  await end()
  await Promise.all(written)
  return { transactions, writes }
}
