import type { Replica } from '../store/replica.ts'
import type { Waiting } from '../store/store.ts'

const mostChanges = 500
const mostBytes = 4 * 1024 * 1024
/** The approximate size of a change without its ciphertext. */
const overheadBytes = 600

/**
 * The next changes to push, the first of each bookmark. They are marked as sent before they are, because from then on the
 * service may have them. Each is returned as it was before, so its `sent` tells whether it had been sent earlier.
 */
export async function takeBatch(
  { replica, userId }: { replica: Replica; userId: string },
  fits: (waiting: Waiting) => boolean,
): Promise<Waiting[]> {
  const ids: string[] = []
  let bytes = 0
  for (const id of replica.waiting) {
    const first = replica.rows.get(id)?.waiting[0]
    if (!first || !fits(first)) continue
    bytes += overheadBytes + (first.change.encrypted_data?.length ?? 0)
    if (ids.length === mostChanges || (ids.length > 0 && bytes > mostBytes)) break
    ids.push(id)
  }
  if (ids.length === 0) return []
  return replica.commit(ids, 'remote', (draft) =>
    ids.flatMap((id) => {
      const row = draft.get(id)
      const [first, ...behind] = row.waiting
      if (!first || !fits(first) || first.change.user_id !== userId) return []
      if (!first.sent) draft.set({ ...row, waiting: [{ ...first, sent: true }, ...behind] })
      return first
    }),
  )
}

/** Unmarks the changes of a batch that the service refused as a whole, except those that had been sent earlier. */
export async function returnBatch(replica: Replica, batch: readonly Waiting[]): Promise<void> {
  const unsent = new Map(batch.filter(({ sent }) => !sent).map((waiting) => [waiting.change.entity_id, waiting]))
  await replica.commit([...unsent.keys()], 'remote', (draft) => {
    for (const [id, waiting] of unsent) {
      const row = draft.get(id)
      const [first, ...behind] = row.waiting
      // An edit made in the meantime replaces it.
      if (first?.change.id === waiting.change.id) draft.set({ ...row, waiting: behind.length > 0 ? behind : [waiting] })
    }
  })
}
