import type { Attack } from '../attack.ts'
import { repeat, send } from '../connections.ts'
import { storeRecords } from '../seed.ts'

/** Twenty callers ask for the status, with half a GiB stored. */
export const status: Attack = {
  seed: (context, attacker) => storeRecords(context, attacker, { count: 2_048, bytes: 256 * 1024 }),
  async run(target) {
    repeat(20, () => send(target, { operation: 'getSyncStatus', headers: { 'x-device-id': 'new' } }))
  },
}
