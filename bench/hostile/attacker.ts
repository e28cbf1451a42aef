/** The attacker's process. Its argument is the attack's name. Each message is a target and starts `run` or a stage. */
import { constants, setPriority } from 'node:os'
import type { Attack, AttackTarget } from './attack.ts'
import { attacks } from './attacks.ts'

// The service and the victim get the CPU first, because their times are measured.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
process.once('disconnect', () => process.exit())
const { run, stages = [] } = attacks[process.argv[2] ?? ''] as Attack
process.on('message', async (target: AttackTarget) => {
  await run?.(target)
  if (stages.length > 0) process.send?.(await stages.shift()?.(target))
})
process.send?.('ready')
