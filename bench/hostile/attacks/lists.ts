import type { Attack } from '../attack.ts'
import { sendUnread } from '../connections.ts'
import { storeRecords } from '../seed.ts'

/** Ten lists of 262 MB each, none of which is read. */
export const lists: Attack = {
  seed: (context, attacker) => storeRecords(context, attacker, { count: 1_000, bytes: 256 * 1024 }),
  async run(target) {
    const path = '/api/v1/bookmarks?limit=1000'
    for (let list = 0; list < 10; list++) sendUnread(target, { operation: 'listBookmarks', path })
  },
}
