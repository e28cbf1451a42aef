/** The process of an attack, whose name is its argument. It begins when it is told the target. */
import { constants, setPriority } from 'node:os'
import type { Attack, AttackTarget } from './attack.ts'
import { attacks } from './attacks.ts'

// The service and the victim come first: their times are measured, ours are not.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
process.once('disconnect', () => process.exit())
const { run, stages = [] } = attacks[process.argv[2] ?? ''] as Attack
process.on('message', async (target: AttackTarget) => {
  await run?.(target)
  if (stages.length > 0) process.send?.(await stages.shift()?.(target))
})
process.send?.('ready')
