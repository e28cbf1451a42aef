/** The process of an attack, whose name is its argument. It begins when it is told the target. */
import { constants, setPriority } from 'node:os'
import type { AttackTarget } from './attack.ts'
import { attacks } from './attacks.ts'

// The service and the victim come first: their times are measured, ours are not.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
process.once('disconnect', () => process.exit())
process.once('message', (target: AttackTarget) => attacks[process.argv[2] ?? '']?.run(target))
process.send?.('ready')
