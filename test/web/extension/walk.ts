import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import { Dice } from '../../client/chaos/dice.ts'
import { Marks } from '../../extension/marks.ts'
import { folder, startService } from '../../support/service.ts'
import { developmentProvider } from '../fixture.ts'
import { openAccount } from './elsewhere.ts'
import { Installed } from './installed.ts'
import { Network } from './network.ts'
import { RandomUser } from './random-user.ts'
import { readSides, type Sides } from './same.ts'
import { setUp } from './set-up.ts'

/** The walks of one pair of Chromiums, one after the other. */
interface Walks {
  /** Returns what is wrong in the end. @param note is told each operation */
  walk(seed: number, operations: number, note: (text: string) => void): Promise<string[]>
}

/** A busy machine is not a fault: nothing takes as long as this unless it never happens. */
const patienceMs = Number(process.env.PATIENCE ?? 600_000)
/** Both must stay the same for this long: what one of them does then is done. */
const quietMs = 1000

export async function openWalks(t: Test): Promise<Walks> {
  const service = await startService(t, await folder(t), { ...(await developmentProvider()), LOG_LEVEL: 'error' })
  const networks = [await Network.open(t, service), await Network.open(t, service)] as const
  const [one, two] = await Promise.all([Installed.start(t), Installed.start(t)])
  await setUp(one, networks[0].service, 'Ada')
  await setUp(two, networks[1].service, 'Ada')
  const sides: Sides = { one, two, elsewhere: (await openAccount(service, 'Ada')).sync }
  return {
    async walk(seed, operations, note) {
      const dice = new Dice(seed)
      const marks = new Marks(seed)
      const users = [
        new RandomUser('one', one, networks[0], dice, marks, note),
        new RandomUser('two', two, networks[1], dice, marks, note),
      ]
      for (let count = 0; count < operations; count++) await dice.pick(users).operate()
      for (const user of users) await user.recover()
      return end(sides, users, marks)
    },
  }
}

/** Once all are the same, and nothing waits any more. */
async function end(sides: Sides, users: RandomUser[], marks: Marks): Promise<string[]> {
  const giveUpAt = performance.now() + patienceMs
  for (let before: unknown; ; ) {
    const shown = await readSides(sides)
    const waits = (await Promise.all(users.map((user) => user.whatWaits()))).flat()
    const isSame = isDeepStrictEqual(shown[1], shown[0]) && isDeepStrictEqual(shown[2], shown[0])
    if (isSame && waits.length === 0 && isDeepStrictEqual(shown, before)) return marks.faults(nodesOf(shown[0] ?? []))
    if (performance.now() > giveUpAt) return [...waits, ...shown.map((lines) => lines.join('\n'))]
    before = shown
    await sleep(quietMs)
  }
}

/** Of lines with two spaces a level. */
function nodesOf(lines: readonly string[]): { title: string; hasChildren: boolean }[] {
  return lines.map((title, index) => ({ title, hasChildren: indentOf(lines[index + 1]) > indentOf(title) }))
}

function indentOf(line = ''): number {
  return line.length - line.trimStart().length
}
