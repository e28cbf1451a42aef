import { account } from './scenarios/account.ts'
import { asked } from './scenarios/asked.ts'
import { atOnce } from './scenarios/at-once.ts'
import { folders } from './scenarios/folders.ts'
import { interrupted } from './scenarios/interrupted.ts'
import { large } from './scenarios/large.ts'
import { links } from './scenarios/links.ts'

/** In this order: what is large makes the others slower. */
export const scenarios = [...links, ...folders, ...atOnce, ...interrupted, ...account, ...asked, ...large]
