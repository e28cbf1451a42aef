import { mock } from 'node:test'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { createBudgets, fullMemory, type Hold } from '../../src/service/load/budget.ts'
import { holdTime } from '../http/unread.ts'
import { depth } from '../support/depth.ts'
import { holdIntervals } from '../support/intervals.ts'

/** Of the budget of downloads. */
const [most, kept, ofOne, little] = [64, 16, 8, 1]
/** In bytes per ms. */
const fastRate = 256 * 1.024
const graceMs = 1000
const paceMs = 5000

interface Held {
  hold: Hold
  owner: string
  amount: number
  isOffered: boolean
  taken: number
  /** At its first second, and each time that its pace is measured. */
  marks: [Mark, Mark]
}

interface Mark {
  at: number
  taken: number
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
    const tick = holdIntervals(t)
    const seen = { ended: 0, refused: 0 }

    function run(steps: Step[]): void {
      const { downloads } = createBudgets(fullMemory)
      const all = new Set<Held>()
      let ended: Held[] = []
      let least = 0
      const sumOf = (owner: string) => [...all].reduce((sum, it) => sum + (it.owner === owner ? it.amount : 0), 0)
      const elapsed = ({ marks }: Held) => performance.now() - marks[0].at
      const rateOf = (it: Held) => (it.taken - it.marks[0].taken) / elapsed(it)
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

        const begun = { at: performance.now() + graceMs, taken: 0 }
        const it: Held = { hold: downloads.hold(owner), owner, amount, isOffered, taken: 0, marks: [begun, begun] }
        const isTold = downloads.hasRoom(owner, amount)
        ended = []
        const isAdded = it.hold.add(amount)
        demand(isTold === isAdded, 'hasRoom tells it')
        if (sum <= ofOne && missing <= 0) demand(isAdded && ended.length === 0, 'there was room')
        else if (!mayMakeRoom) demand(!isAdded, 'it would hold more than its share')
        if (!isAdded) demand(ended.length === 0, 'nobody ends in vain')
        const made = ended.slice(0, -1).reduce((sum, one) => sum + one.amount, 0)
        demand(ended.length === 0 || made < missing, 'no more end than make room')
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

      /** Whatever runs every 5 s does so now. */
      function mark(): void {
        tick(paceMs / 1000)
        const at = performance.now()
        for (const it of all) it.marks = [it.marks[1], { at, taken: it.taken }]
      }

      for (const [index, { kind, which, amount, bytes, isOffered }] of steps.entries()) {
        pass(0.3)
        if (index % 17 === 0) mark()
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

const [kibibyte, mebibyte] = [1024, 1024 * 1024]

/** A budget that somebody of whom nothing ends `fills` up to there, and what lets seconds pass. */
function openBudget(t: Pick<Test, 'teardown'>, of: 'downloads' | 'responses', filled: number) {
  const [pass, tick] = [holdTime(t), holdIntervals(t)]
  const budget = createBudgets(fullMemory)[of]
  const seen = { ended: [] as string[], looks: 0 }
  return {
    seen,
    /** So many that may be ended, of which each has taken so much. */
    hold(owner: string, count: number, taken = 0, amount = 1) {
      const all = Array.from({ length: count }, () => ({ taken }))
      for (const one of all) {
        const hold = budget.hold(owner)
        hold.add(amount)
        hold.offer({
          taken() {
            seen.looks++
            return one.taken
          },
          end: () => seen.ended.push(owner),
        })
      }
      return all
    },
    fill: () => budget.hold('others').insist(filled - budget.held()),
    isAdded: (owner: string, amount = 1) => budget.hold(owner).add(amount),
    /** At the end of it, what runs every few seconds does so. */
    passes(seconds: number): void {
      pass(seconds)
      tick(seconds)
    },
  }
}

t.test('How fast something goes on is told by its last seconds, not by what came at once before', async (t) => {
  const { hold, fill, isAdded, seen, passes } = openBudget(t, 'downloads', most + kept)
  const steady = hold('ada', 3)
  hold('ada', 1, 2 ** 30)
  fill()
  for (let count = 0; count < 3; count++) {
    passes(paceMs / 1000)
    for (const one of steady) one.taken += 1.01 * paceMs * fastRate
  }
  t.equal(isAdded('bob'), true)
  t.same(seen.ended, ['ada'])
  passes(0.1)
  t.equal(isAdded('eve'), false, 'the others go on')
})

t.test('Whoever makes room for another still holds as much as that one then does', async (t) => {
  const { hold, fill, isAdded, seen, passes } = openBudget(t, 'downloads', most - 2)
  hold('ada', 5)
  hold('bob', 4)
  fill()
  passes(2)
  t.equal(isAdded('zoe', 4), false, 'ada can make room for one')
  t.same(seen.ended, [])
  t.equal(isAdded('zoe', 3), true)
  t.same(seen.ended, ['ada'])
})

t.test('The slowest of who holds at least half as much as the one with most makes room', async (t) => {
  const { hold, fill, isAdded, seen, passes } = openBudget(t, 'downloads', most + kept)
  hold('ada', 8, 2000)
  hold('bob', 4, 1000)
  hold('eve', 3)
  fill()
  passes(4)
  t.equal(isAdded('zoe'), true)
  t.same(seen.ended, ['bob'])
})

t.test('Others make room for an equal share, and for no more', async (t) => {
  const { hold, fill, isAdded, seen, passes } = openBudget(t, 'responses', 128 * mebibyte)
  hold('ada', 8, 0, 3 * mebibyte)
  for (let n = 0; n < 13; n++) hold(`user ${n}`, 1)
  fill()
  passes(2)
  t.equal(isAdded('zoe', 8 * mebibyte + 1), false)
  t.same(seen.ended, [])
  t.equal(isAdded('zoe', 8 * mebibyte), true, 'of 16 owners')
  t.same(seen.ended, Array(3).fill('ada'))
})

t.test('At 256 KiB/s it goes on fast', async (t) => {
  const { hold, fill, isAdded, seen, passes } = openBudget(t, 'downloads', most + kept)
  const all = hold('ada', 2, 1000 * fastRate)
  fill()
  passes(2)
  t.equal(isAdded('bob'), false)
  for (const one of all) one.taken -= 1
  passes(0.1)
  t.equal(isAdded('bob'), true)
  t.same(seen.ended, ['ada'])
})

t.test('If nothing can make room, nobody who needs as much looks for it again for a tenth of a second', async (t) => {
  const { hold, fill, isAdded, seen, passes } = openBudget(t, 'downloads', most)
  hold('ada', 4, 2 ** 30)
  fill()
  passes(2)
  const looksFor = (amount: number) => {
    const before = seen.looks
    t.equal(isAdded('bob', amount), false)
    return seen.looks - before
  }
  t.same([looksFor(3), looksFor(3), looksFor(4)], [4, 0, 0])
  t.equal(looksFor(2), 4, 'for less')
  passes(0.099)
  t.equal(looksFor(2), 0)
  passes(0.001)
  t.equal(looksFor(2), 4)
})

t.test('However much is held, 256 are looked at, 64 of one owner, and others the next time', async (t) => {
  const { hold, fill, isAdded, seen, passes } = openBudget(t, 'responses', (128 + 24) * mebibyte)
  for (let n = 0; n < 5; n++) {
    hold(`user ${n}`, 64, 2 ** 30, 64 * kibibyte)
    hold(`user ${n}`, 1, 0, 64 * kibibyte)
  }
  fill()
  passes(2)
  t.equal(isAdded('zoe', kibibyte), false)
  t.equal(seen.looks, 256)
  passes(0.2)
  t.equal(isAdded('zoe', kibibyte), true)
  t.equal(seen.ended.length, 1)
})

t.test('Who waits for room asks until there is some; no timer runs for what is not held or waited for', async (t) => {
  mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const started = mock.method(globalThis, 'setTimeout')
  const [marking, ended] = [mock.method(globalThis, 'setInterval'), mock.method(globalThis, 'clearInterval')]
  const { responses } = createBudgets(fullMemory)
  const others = responses.hold('others')
  others.insist(2 ** 30)
  const waits = ['ada', 'bob', 'eve'].map((owner) => responses.hold(owner).addLater(1))
  for (let count = 0; count < 3; count++) mock.timers.tick(250)
  t.equal(responses.held(), 2 ** 30)
  others.release()
  mock.timers.tick(250)
  await Promise.all(waits)
  t.equal(responses.held(), 3)
  mock.timers.tick(1000)
  t.equal(started.mock.callCount(), 4)

  const runs = () => marking.mock.callCount() - ended.mock.callCount()
  for (let count = 0; count < 2; count++) {
    const holds = ['ada', 'bob'].map((owner) => responses.hold(owner))
    for (const hold of holds) hold.offer({ taken: () => 0, end() {} })
    mock.timers.tick(5000)
    t.equal(runs(), 1)
    for (const hold of holds) hold.release()
    mock.timers.tick(5000)
    t.equal(runs(), 0)
  }
})
