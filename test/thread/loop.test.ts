import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { mapInTurns, nextTurn, pause } from '../../src/service/thread/loop.ts'
import { newWork, runAs } from '../../src/service/thread/work.ts'

/** Time passes when it is told to. Notes who worked, by turns of the event loop. */
function startClock(t: Test) {
  const { now } = performance
  t.teardown(() => {
    performance.now = now
  })
  let ms = 0
  performance.now = () => ms
  const turns: string[][] = [[]]
  let isOver = false
  const watch = (async () => {
    for (; !isOver; turns.push([])) await eventLoopTurn()
  })()
  /** Works on so many things, each of which takes 4 ms. */
  const work = (owner: string, things: number, isAwaited = false) =>
    runAs({ ...newWork(owner), isAwaited }, () =>
      mapInTurns(Array.from({ length: things }), () => {
        ms += 4
        turns.at(-1)?.push(isAwaited ? `${owner}!` : owner)
      }),
    )
  const end = async () => {
    isOver = true
    await watch
    return turns
  }
  return { work, end, turns }
}

const ofOwner = (turns: string[][], owner: string) => turns.filter((turn) => turn.includes(owner)).length

t.test('However many long loops run, a turn of the event loop is as long as one or two of their steps', async (t) => {
  const { work, end } = startClock(t)
  await Promise.all(Array.from({ length: 32 }, (_, number) => work(`user ${number % 4}`, 10)))
  const longest = Math.max(...(await end()).map((turn) => turn.length))
  t.ok(longest <= 6, `${longest} things in a turn`)
})

t.test('Owners take turns, however many loops each has', async (t) => {
  const { work, end } = startClock(t)
  const many = Array.from({ length: 32 }, () => work('ada', 10))
  const turns = await work('bob', 10).then(end)
  t.ok(ofOwner(turns, 'ada') <= ofOwner(turns, 'bob') + 2, `${turns.join(' | ')}`)
  await Promise.all(many)
})

t.test('What others wait for goes on in each turn, one of another owner beside it, and none of its own', async (t) => {
  const { work, end } = startClock(t)
  const many = Array.from({ length: 32 }, () => work('ada', 20))
  const others = Array.from({ length: 3 }, () => work('bob', 20))
  const turns = await work('ada', 20, true).then(end)
  const [first, last] = [
    turns.findIndex((turn) => turn.includes('ada!')),
    turns.findLastIndex((turn) => turn.includes('ada!')),
  ]
  const meanwhile = turns.slice(first + 1, last)
  t.ok(meanwhile.length > 2)
  t.ok(
    meanwhile.every((turn) => turn.includes('ada!') && !turn.includes('ada')),
    `${turns.join(' | ')}`,
  )
  t.ok(meanwhile.some((turn) => turn.includes('bob')))
  await Promise.all([...many, ...others])
})

t.test('What has no steps has a turn of its own', async (t) => {
  const { work, end, turns } = startClock(t)
  const parses = Array.from({ length: 8 }, async () => {
    await runAs(newWork('ada'), nextTurn)
    turns.at(-1)?.push('parse')
  })
  await Promise.all([...parses, work('bob', 10)])
  t.ok((await end()).every((turn) => turn.filter((thing) => thing === 'parse').length <= 1))
  t.equal(pause(), undefined, 'and none waits afterwards')
})
