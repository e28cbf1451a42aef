import type { Attack } from './attack.ts'
import { bursts } from './attacks/bursts.ts'
import { deletes } from './attacks/deletes.ts'
import { downloads } from './attacks/downloads.ts'
import { images } from './attacks/images.ts'
import { lists } from './attacks/lists.ts'
import { nesting } from './attacks/nesting.ts'
import { objects } from './attacks/objects.ts'
import { pulls } from './attacks/pulls.ts'
import { returnTo } from './attacks/return-to.ts'
import { rowLock } from './attacks/row-lock.ts'
import { sockets } from './attacks/sockets.ts'
import { status } from './attacks/status.ts'
import { sweep } from './attacks/sweep.ts'
import { unfinishedLogins } from './attacks/unfinished-logins.ts'
import { unfinishedPushes } from './attacks/unfinished-pushes.ts'

/** By the names of their rows. */
export const attacks: Record<string, Attack> = {
  lists,
  pulls,
  downloads,
  objects,
  nesting,
  status,
  deletes,
  sockets,
  'row-lock': rowLock,
  'unfinished-logins': unfinishedLogins,
  'unfinished-pushes': unfinishedPushes,
  'return-to': returnTo,
  sweep,
  images,
  bursts,
}
