import { account } from './scenarios/account.ts'
import { asked } from './scenarios/asked.ts'
import { atOnce } from './scenarios/at-once.ts'
import { folders } from './scenarios/folders.ts'
import { interrupted } from './scenarios/interrupted.ts'
import { large } from './scenarios/large.ts'
import { links } from './scenarios/links.ts'

/** By subject, in this order: only of few bookmarks, some are many; and what is large makes the others slower. */
const subjects = { links, folders, 'at once': atOnce, asked, account, interrupted, large }

export const scenarios = Object.entries(subjects).flatMap(([subject, scenarios]) =>
  scenarios.map(({ title, run }) => ({ title: `${subject}: ${title}`, run })),
)
