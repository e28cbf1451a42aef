import type { Attack } from '../attack.ts'
import { sendAtOnce } from '../connections.ts'
import { newChange, storeRecords } from '../seed.ts'

const everyMs = 1_000
const requests = 500

/** Every second, five hundred requests that arrive at one instant, each for a bookmark of 64 KiB. */
export const bursts: Attack = {
  seed: (context, attacker) => storeRecords(context, attacker, { count: 1, bytes: 64 * 1024 }),
  async run(target) {
    const path = `/api/v1/bookmarks/${newChange(0, 0).entity_id}`
    setInterval(() => sendAtOnce(target, { operation: 'getBookmark', path }, requests), everyMs)
  },
}
