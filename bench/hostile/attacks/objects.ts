import type { Attack } from '../attack.ts'
import { repeat, send } from '../connections.ts'

const bodyBytes = 32 * 1024 * 1024

/** Pushes of 32 MiB of empty objects, one after the other. */
export const objects: Attack = {
  async run(target) {
    const [before, after] = ['{"changes":[', '{}]}']
    const body = Buffer.from(`${before}${'{},'.repeat((bodyBytes - before.length - after.length) / 3)}${after}`)
    repeat(1, () => send(target, { operation: 'pushChanges', body }))
  },
}
