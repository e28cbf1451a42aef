import fc from 'fast-check'
import t from 'tap'
import { isPosition, positionsBetween } from '../../src/client/bookmark/positions.ts'
import { depth } from '../support/depth.ts'

interface Placed {
  position: string
  /** The run to which the item belongs: all that one device inserts in one round. */
  run: string
}

/** Between positions of 60 characters or more, items get positions without a run. */
const longestBound = 60

const byPosition = (one: Placed, other: Placed) => (one.position < other.position ? -1 : 1)

/** Inserts `count` items at this index of a list. */
function put(list: readonly Placed[], index: number, count: number, device: string, run: string): Placed[] {
  const [lower, upper] = [list[index - 1]?.position ?? null, list[index]?.position ?? null]
  const positions = positionsBetween(lower, upper, count, device)
  return list.toSpliced(index, 0, ...positions.map((position) => ({ position, run })))
}

t.test('Runs that offline devices insert at one place stay together, however each was inserted', async (t) => {
  const devices = ['Firefox on Linux-1', 'Chrome on Linux-1', 'Chrome on Linux-2']
  // A device inserts its run in parts: each after, before or inside the earlier parts.
  const parts = fc.array(fc.record({ count: fc.integer({ min: 1, max: 4 }), at: fc.nat(12) }), {
    minLength: 1,
    maxLength: 4,
  })
  const round = fc.record({ place: fc.nat(20), runs: fc.tuple(parts, parts, parts) })
  const property = fc.property(fc.array(round, { minLength: 1, maxLength: 5 }), (rounds) => {
    let list: Placed[] = []
    for (const [number, { place, runs }] of rounds.entries()) {
      const index = place % (list.length + 1)
      const lists = runs.map((parts, which) => {
        const device = devices[which] as string
        const run = `${number} ${device}`
        let mine = list
        for (const { count, at } of parts) {
          const length = mine.length - list.length
          mine = put(mine, index + (at % (length + 1)), count, device, run)
        }
        if (mine.toSorted(byPosition).some((one, at) => one !== mine[at])) return null
        return mine.slice(index, index + mine.length - list.length)
      })
      if (lists.includes(null)) return false
      const merged = [...list, ...lists.flatMap((one) => one ?? [])].toSorted(byPosition)
      const there = merged.filter((one) => lists.some((mine) => mine?.includes(one)))
      const isWhole = lists.every((mine) => {
        const start = there.indexOf(mine?.[0] as Placed)
        return mine?.every((one, offset) => there[start + offset] === one)
      })
      const isTogether = there.every((one, offset) => merged[index + offset] === one)
      if (!(isTogether && merged.every(({ position }) => isPosition(position)))) return false
      // Without runs, items of different devices may mix.
      if ([list[index - 1], list[index]].some((one) => one && one.position.length >= longestBound)) return true
      if (!isWhole) return false
      list = merged
    }
    return true
  })
  fc.assert(property, { numRuns: depth(300, 5000) })
  t.pass()
})

t.test('Thousands of items that are inserted at one place have short positions', async (t) => {
  const count = depth(2000, 10_000)
  const longest = (at: (length: number) => number, device: (nth: number) => string) => {
    let list = put(put([], 0, 1, 'first', ''), 1, 1, 'last', '')
    for (let nth = 0; nth < count; nth++) list = put(list, at(list.length), 1, device(nth), '')
    t.same(
      list.map(({ position }) => position),
      list.toSorted(byPosition).map(({ position }) => position),
    )
    return Math.max(...list.map(({ position }) => position.length))
  }
  const places = { start: () => 0, end: (length: number) => length }
  const between = { 'after one': () => 1, 'before one': (length: number) => length - 1 }
  for (const [name, at] of Object.entries({ ...places, ...between })) t.ok(longest(at, () => 'one') <= 12, name)
  for (const [name, at] of Object.entries(places)) t.ok(longest(at, (nth) => `${nth % 2}`) <= 12, `${name}, in turns`)
  // Between two positions that come closer and closer, six inserts take one more digit.
  for (const devices of [1, 2])
    t.ok(
      longest(
        (length) => length >> 1,
        (nth) => `${nth % devices}`,
      ) <=
        64 + count / 5,
    )
})
