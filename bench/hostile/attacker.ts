/** The process of an attack; its argument is the attack's name. It starts when it receives the target. */
import { constants, setPriority } from 'node:os'
import type { Attack, AttackTarget } from './attack.ts'
import { attacks } from './attacks.ts'

// The service and the victim have priority: their times are measured.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
process.once('disconnect', () => process.exit())
const { run, stages = [] } = attacks[process.argv[2] ?? ''] as Attack
process.on('message', async (target: AttackTarget) => {
  await run?.(target)
  if (stages.length > 0) process.send?.(await stages.shift()?.(target))
})
process.send?.('ready')
