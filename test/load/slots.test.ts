import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { Slots } from '../../src/service/load/slots.ts'
import { holdTime } from '../support/intervals.ts'

/** Work that ends when the test says so. */
function works(slots: Slots) {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const begin = (owner: string, name: string) => {
    const { promise, resolve } = Promise.withResolvers<string>()
    ends.set(name, () => resolve(name))
    return slots.run(owner, () => {
      begun.push(name)
      return promise
    })
  }
  return { begun, begin, end: (name: string) => ends.get(name)?.() }
}

t.test('Work that finds a place begins at once, without a promise', (t) => {
  const slots = new Slots({ total: 1, perOwner: 1 })
  t.equal(
    slots.run('a', () => 1),
    1,
  )
  t.throws(() =>
    slots.run('a', () => {
      throw new Error('failed')
    }),
  )
  t.same(slots.load(), { taken: 0, waiting: 0 }, 'the place is free again')
  t.end()
})

t.test('Every owner gets a turn before any gets a second, within the places in all and of one owner', async () => {
  const owners = fc.constantFrom('a', 'b', 'c', 'd')
  const limits = fc.record({ total: fc.integer({ min: 1, max: 4 }), perOwner: fc.integer({ min: 1, max: 3 }) })
  const picks = fc.array(fc.nat(), { minLength: 24, maxLength: 24 })
  await fc.assert(
    fc.asyncProperty(limits, fc.array(owners, { maxLength: 24 }), picks, async ({ total, perOwner }, asks, picks) => {
      const slots = new Slots({ total, perOwner })
      const { begun, begin, end } = works(slots)
      const names = asks.map((owner, index) => `${owner}${index}`)
      const all = names.map((name) => begin(name.charAt(0), name))
      await eventLoopTurn()
      const running = new Set(begun)
      const of = (owner: string, list: Iterable<string>) => [...list].filter((name) => name.startsWith(owner))
      /** The waiting owners that may take another slot. */
      const mayBegin = () =>
        [...new Set(asks)].filter(
          (owner) => of(owner, begun).length < of(owner, names).length && of(owner, running).length < perOwner,
        )
      /** By waiting owner, the others that have begun since the owner could have. */
      const passedOver = new Map<string, string[]>()
      for (const pick of picks.slice(0, names.length)) {
        if (running.size > total || asks.some((owner) => of(owner, running).length > perOwner))
          throw new Error('too many at once')
        if (running.size < total && mayBegin().length > 0) throw new Error('a place is unused')
        const ended = [...running][pick % running.size] as string
        running.delete(ended)
        const could = mayBegin()
        const seen = begun.length
        end(ended)
        await eventLoopTurn()
        const [started = ''] = begun.slice(seen)
        if (begun.length > seen + 1) throw new Error('two begin for one that ended')
        if (started !== '') running.add(started)
        for (const owner of asks) if (!could.includes(owner) || started.startsWith(owner)) passedOver.delete(owner)
        for (const owner of could) {
          if (started === '' || started.startsWith(owner)) continue
          const others = passedOver.get(owner) ?? []
          if (others.includes(started.charAt(0))) throw new Error(`${started} begins before ${owner}`)
          passedOver.set(owner, [...others, started.charAt(0)])
        }
      }
      await Promise.all(all)
      for (const owner of asks) if (of(owner, begun).join() !== of(owner, names).join()) throw new Error('out of order')
      return slots.load().taken === 0 && slots.load().waiting === 0
    }),
  )
})

t.test('An owner with much waiting work delays another by one turn only', async (t) => {
  const slots = new Slots({ total: 1, perOwner: 1 })
  const { begun, begin, end } = works(slots)
  for (const name of ['a1', 'a2', 'a3']) begin('a', name)
  begin('b', 'b1')
  for (const name of ['a1', 'a2', 'b1']) {
    await eventLoopTurn()
    end(name)
  }
  await eventLoopTurn()
  t.same(begun, ['a1', 'a2', 'b1', 'a3'])
  end('a3')
})

const hold = (ms: number) => {
  for (const until = performance.now() + ms; performance.now() < until; );
}
for (const [title, work] of [
  ['at once', () => hold(6)],
  [
    'in microtasks',
    async () => {
      for (let step = 0; step < 20; step++) await undefined
      hold(6)
    },
  ],
] as const) {
  t.test(`In one turn of the event loop, work starts until the time is used up: it is done ${title}`, async (t) => {
    for (const [turnMs, most] of [
      [0, 1],
      [10, 2],
    ] as const) {
      const slots = new Slots({ total: 100, perOwner: 100, turnMs })
      let turn = 0
      let counting = setImmediate(function next() {
        turn++
        counting = setImmediate(next)
      })
      slots.run('a', () => hold(turnMs))
      const turns: number[] = []
      const count = () => {
        turns.push(turn)
        return work()
      }
      await Promise.all(Array.from({ length: 6 }, () => slots.run('a', count)))
      clearImmediate(counting)
      const perTurn = Object.values(Object.groupBy(turns, String)).map((begun) => begun?.length ?? 0)
      t.ok(Math.max(...perTurn) <= most, `${turnMs} ms: ${perTurn}`)
    }
  })
}

t.test('Work that has waited 10 s is refused, and its place goes to the next', async (t) => {
  const passes = holdTime(t)
  const slots = new Slots({ total: 1, perOwner: 1 })
  slots.take('a')
  const early = slots.take('b')
  passes(6)
  const late = slots.take('c')
  passes(4)
  await t.rejects(early as Promise<void>, { code: 'Overloaded', statusCode: 503 })
  t.same(slots.load(), { taken: 1, waiting: 1 })
  slots.release('a')
  await late
  slots.release('c')
  t.equal(slots.take('d'), undefined)
})

t.test('At most 512 of an owner wait; one more is refused, and other owners are admitted', async (t) => {
  const slots = new Slots({ total: 1, perOwner: 1 })
  slots.take('a')
  const waits = Array.from({ length: 512 }, () => slots.take('a'))
  await t.rejects(slots.take('a') as Promise<void>, { code: 'Overloaded' })
  const other = slots.take('b')
  slots.release('a')
  await waits[0]
  slots.release('a')
  await other
  t.equal(slots.load().waiting, 511)
  for (let count = 0; count < 512; count++) {
    slots.release(count === 0 ? 'b' : 'a')
    await eventLoopTurn()
  }
  t.equal(slots.load().waiting, 0)
})

t.test("If lent places can end at once, the oldest of the owner with the most ends, or else one's own", async (t) => {
  const slots = new Slots({ total: 4, perOwner: 2, endsAtOnce: true })
  const ended: string[] = []
  const lend = async (owner: string, name: string) => {
    await slots.take(owner)
    const end = () => {
      ended.push(name)
      slots.release(owner)
    }
    slots.lend(owner, end, () => false)
  }
  for (const [owner, name] of ['a1', 'a2', 'a3', 'b1', 'c1', 'd1', 'c2'].map((name) => [name.charAt(0), name] as const))
    await lend(owner, name)
  t.same(ended, ['a1', 'a2', 'c1'])
  t.same(slots.load(), { taken: 4, waiting: 0 })
})

t.test('Work that waits a second ends the oldest lent place of the owner with the most', async (t) => {
  const passes = holdTime(t)
  const slots = new Slots({ total: 3, perOwner: 2 })
  const ended: string[] = []
  const behind = new Set<string>()
  const lend = (owner: string, name: string) => {
    slots.take(owner)
    const end = () => {
      ended.push(name)
      slots.release(owner)
    }
    return slots.lend(owner, end, () => behind.has(name))
  }
  lend('a', 'a1')
  lend('a', 'a2')
  const keep = lend('b', 'b1')
  const first = slots.take('c')
  passes(0.75)
  t.same(ended, [], 'not before')
  passes(0.25)
  await first
  t.same(ended, ['a1'])
  const second = slots.take('b')
  passes(5)
  t.same(ended, ['a1'], 'an owner with as many places as others ends none')
  keep()
  slots.release('b')
  await second
  passes(10)
  t.same(ended, ['a1'])
  slots.release('b')
  lend('b', 'b2')
  const third = slots.take('d')
  passes(5)
  t.same(ended, ['a1'], "an owner's only place is not ended for another owner")
  behind.add('b2')
  passes(1)
  await third
  t.same(ended, ['a1', 'b2'], 'unless it makes no progress')
})
