import type { Attack } from '../attack.ts'
import { repeat, send } from '../connections.ts'
import { newChange, storeRecords } from '../seed.ts'

const count = 2_048

/** Pushes of deletes of all records, with half a GiB stored. Every push is newer than the one before. */
export const deletes: Attack = {
  seed: (context, attacker) => storeRecords(context, attacker, { count, bytes: 256 * 1024 }),
  async run(target) {
    repeat(1, () => {
      const now = Date.now()
      const changes = Array.from({ length: count }, (_, number) => {
        const { encrypted_data, data_hash, ...change } = newChange(number, now)
        return { ...change, operation: 'delete' }
      })
      return send(target, { operation: 'pushChanges', body: JSON.stringify({ changes }) })
    })
  },
}
