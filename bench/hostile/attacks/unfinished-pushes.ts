import type { Attack } from '../attack.ts'
import { sendUnfinished } from '../connections.ts'
import { unfinishedLogins } from './unfinished-logins.ts'

const bodyBytes = 32 * 1024 * 1024

/** Two pushes of 32 MiB that never end, beside the unfinished logins. */
export const unfinishedPushes: Attack = {
  async run(target) {
    const body = Buffer.alloc(bodyBytes, ' ')
    for (let push = 0; push < 2; push++) sendUnfinished(target, { operation: 'pushChanges', body })
    await unfinishedLogins.run(target)
  },
}
