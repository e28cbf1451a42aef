import type { Attack } from '../attack.ts'
import { sendUnread } from '../connections.ts'
import { storeRecords } from '../seed.ts'

/** A hundred pulls of 8 MiB each, none of which is read. */
export const pulls: Attack = {
  seed: (context, attacker) => storeRecords(context, attacker, { count: 64, bytes: 256 * 1024 }),
  async run(target) {
    for (let pull = 0; pull < 100; pull++) sendUnread(target, { operation: 'pullChanges', body: '{}' })
  },
}
