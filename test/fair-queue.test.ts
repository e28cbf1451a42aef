import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import t from 'tap'
import { createFairQueue, limitPerOwner } from '../src/service/load/turns.ts'

function takeAll(queue: ReturnType<typeof createFairQueue<string>>): string[] {
  const taken: string[] = []
  for (let next = queue.take(); next; next = queue.take()) taken.push(next.item)
  return taken
}

t.test('Each owner has a turn before any has a second one, and keeps the order of its own', async (t) => {
  const queue = createFairQueue<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.add(item.slice(0, 1), item)
  t.match([queue.take(), queue.take()], [{ owner: 'a', item: 'a1' }, { item: 'b1' }])
  queue.add('d', 'd1')
  t.same(takeAll(queue), ['c1', 'a2', 'd1', 'c2', 'a3'])
  t.equal(queue.take(), undefined)
})

t.test('One that may have no turn is passed over, and keeps its place', async (t) => {
  const queue = createFairQueue<string>()
  for (const item of ['a1', 'b1', 'b2']) queue.add(item.slice(0, 1), item)
  t.match(
    queue.take((owner) => owner !== 'a'),
    { item: 'b1' },
  )
  t.equal(
    queue.take(() => false),
    undefined,
  )
  t.same(takeAll(queue), ['a1', 'b2'])
})

t.test('Of one owner, 512 items wait; one more is a 503, and others still come in', async (t) => {
  const queue = createFairQueue<string>()
  for (let count = 0; count < 512; count++) queue.add('a', 'item')
  t.throws(() => queue.add('a', 'item'), { code: 'Overloaded', statusCode: 503, headers: { 'retry-after': '1' } })
  queue.add('b', 'item')
  t.equal(takeAll(queue).length, 513)
})

t.test(
  'So many works of an owner are under way in a turn of the event loop; what has room begins at once',
  async (t) => {
    const inTurn = limitPerOwner(2)
    t.equal(
      inTurn('a', () => 1),
      1,
      'without a promise',
    )
    t.throws(() =>
      inTurn('a', () => {
        throw new Error('failed')
      }),
    )
    const begun: number[] = []
    const works = [2, 3, 4, 5, 6].map((work) => inTurn('a', () => begun.push(work)))
    t.same(begun, [], 'two have had their turn')
    t.equal(
      inTurn('b', () => 7),
      7,
      'others are not concerned',
    )
    const perTurn: number[] = []
    while (begun.length < 5) {
      await eventLoopTurn()
      perTurn.push(begun.length)
    }
    t.same(begun, [2, 3, 4, 5, 6])
    t.ok(
      perTurn.every((count, turn) => count - (perTurn[turn - 1] ?? 0) <= 2),
      perTurn.join(),
    )
    await Promise.all(works)
  },
)

t.test('Of one owner, 512 works wait; one more is a 503', async (t) => {
  const inTurn = limitPerOwner(1)
  const works = Array.from({ length: 513 }, () => inTurn('a', async () => {}))
  t.throws(() => inTurn('a', () => {}), { code: 'Overloaded' })
  await Promise.all(works)
})
