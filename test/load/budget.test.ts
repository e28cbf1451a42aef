import fc from 'fast-check'
import t from 'tap'
import { createBudgets, fullMemory, type Hold } from '../../src/service/load/budget.ts'
import { holdTime } from '../http/unread.ts'
import { depth } from '../support/depth.ts'

/** Of the budget of downloads. */
const [most, kept, ofOne, little] = [64, 16, 8, 1]
/** In bytes per ms. */
const fastRate = 256 * 1.024
const graceMs = 1000

interface Held {
  hold: Hold
  owner: string
  amount: number
  isOffered: boolean
  taken: number
  begunAt: number
}

const step = fc.record({
  kind: fc.constantFrom('add', 'add', 'add', 'take', 'take', 'take', 'release', 'keep', 'subtract'),
  which: fc.nat(),
  amount: fc.integer({ min: 1, max: 3 }),
  bytes: fc.integer({ min: 0, max: 2 ** 25 }),
  isOffered: fc.boolean(),
})

type Step = ReturnType<typeof step.generate>['value']

const demand = (holds: boolean, what: string) => {
  if (!holds) throw new Error(what)
}

t.test(
  'Whoever ends for others holds much and is the slowest, nobody ends in vain, and the sums are true',
  async (t) => {
    const pass = holdTime(t)
    const seen = { ended: 0, refused: 0 }

    function run(steps: Step[]): void {
      const { downloads } = createBudgets(fullMemory)
      const all = new Set<Held>()
      let ended: Held[] = []
      let least = 0
      const sumOf = (owner: string) => [...all].reduce((sum, it) => sum + (it.owner === owner ? it.amount : 0), 0)
      const elapsed = ({ begunAt }: Held) => performance.now() - begunAt - graceMs
      const rateOf = (it: Held) => it.taken / elapsed(it)
      const isSlow = (it: Held) => it.isOffered && it.amount > 0 && elapsed(it) > 0 && rateOf(it) < fastRate

      function add(owner: string, amount: number, isOffered: boolean): void {
        const sum = sumOf(owner) + amount
        const missing = downloads.held() + amount - most - (sum <= little ? kept : 0)
        const owners = new Set([...all].filter((it) => it.amount > 0).map((it) => it.owner)).add(owner)
        const mayMakeRoom = sum <= Math.min(ofOne, Math.max(little, most / owners.size))
        least = Math.max(little, sum)
        const slow = [...all].filter((it) => isSlow(it) && sumOf(it.owner) > least)
        const half = Math.max(...slow.map((it) => sumOf(it.owner))) / 2
        const candidates = slow.filter((it) => sumOf(it.owner) >= half)

        const it: Held = { hold: downloads.hold(owner), owner, amount, isOffered, taken: 0, begunAt: performance.now() }
        const isTold = downloads.hasRoom(owner, amount)
        ended = []
        const isAdded = it.hold.add(amount)
        demand(isTold === isAdded, 'hasRoom tells it')
        if (sum <= ofOne && missing <= 0) demand(isAdded && ended.length === 0, 'there was room')
        else if (!mayMakeRoom) demand(!isAdded, 'it would hold more than its share')
        if (!isAdded) demand(ended.length === 0, 'nobody ends in vain')
        for (const one of ended) {
          demand(candidates.includes(one), 'it is not fast, and its owner holds much')
          const left = candidates.filter((other) => all.has(other) && sumOf(other.owner) > least)
          demand(!left.some((other) => rateOf(other) < rateOf(one)), 'no slower one is left')
        }
        const lowest = Math.min(...candidates.map(rateOf))
        const slowest = candidates.filter((one) => rateOf(one) === lowest)
        const isEnough = slowest.length > 0 && slowest.every((one) => one.amount >= missing)
        if (!isAdded && mayMakeRoom) demand(!isEnough, 'the slowest could have made room')
        seen.ended += ended.length
        if (!isAdded) {
          seen.refused++
          it.hold.release()
          return
        }
        all.add(it)
        if (!isOffered) return
        it.hold.offer({
          taken: () => it.taken,
          end() {
            demand(sumOf(owner) > least, 'its owner holds more than the other, and more than little')
            all.delete(it)
            ended.push(it)
          },
        })
      }

      for (const { kind, which, amount, bytes, isOffered } of steps) {
        pass(0.3)
        const it = [...all][which % all.size]
        if (kind === 'add') add(`user ${which % 15}`, amount, isOffered)
        else if (it && kind === 'take') it.taken += bytes
        else if (it && kind === 'keep') {
          it.hold.keep()
          it.isOffered = false
        } else if (it && kind === 'subtract' && it.amount > 0) {
          it.hold.subtract(1)
          it.amount--
        } else if (it && kind === 'release') {
          it.hold.release()
          all.delete(it)
        }
        const sum = [...all].reduce((sum, { amount }) => sum + amount, 0)
        demand(downloads.held() === sum && sum <= most + kept, 'the sum is true, and within the limit')
      }
    }

    fc.assert(fc.property(fc.array(step, { minLength: 200, maxLength: 400, size: 'max' }), run), {
      numRuns: depth(50, 1000),
    })
    t.ok(seen.ended > 100 && seen.refused > 100, JSON.stringify(seen))
  },
)
