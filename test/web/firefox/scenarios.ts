import { account } from './scenarios/account.ts'
import { atOnce } from './scenarios/at-once.ts'
import { background } from './scenarios/background.ts'
import { edits } from './scenarios/edits.ts'

/** In this order: each builds on what the ones before have left. */
export const scenarios = [...edits, ...atOnce, ...background, ...account]
