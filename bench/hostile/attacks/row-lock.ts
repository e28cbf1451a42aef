import type { Attack } from '../attack.ts'
import { repeat, send } from '../connections.ts'
import { newChange } from '../seed.ts'

/** Sixty writes of one user at a time, which wait for one row's lock behind four large pushes. */
export const rowLock: Attack = {
  needsPostgres: true,
  async run(target) {
    repeat(4, () => {
      const now = Date.now()
      const changes = Array.from({ length: 2_000 }, (_, number) => newChange(number, now))
      return send(target, { operation: 'pushChanges', body: JSON.stringify({ changes }) })
    })
    const body = JSON.stringify({ encrypted_data: 'x', data_hash: 'h' })
    repeat(60, () => send(target, { operation: 'createBookmark', body }))
  },
}
