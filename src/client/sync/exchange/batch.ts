import type { Replica } from '../store/replica.ts'
import type { Waiting } from '../store/store.ts'

const mostChanges = 500
const mostBytes = 4 * 1024 * 1024
/** What a change weighs beside its ciphertext, roughly. */
const overheadBytes = 600

/**
 * The next changes to push, the first of each bookmark, marked as sent before they are: from then on the service may have
 * them. `sent` tells which were before.
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

/** The service refused the batch as a whole, so it has none of it that it did not have before. */
export async function returnBatch(replica: Replica, batch: readonly Waiting[]): Promise<void> {
  const unsent = new Map(batch.filter(({ sent }) => !sent).map((waiting) => [waiting.change.entity_id, waiting]))
  await replica.commit([...unsent.keys()], 'remote', (draft) => {
    for (const [id, waiting] of unsent) {
      const row = draft.get(id)
      const [first, ...behind] = row.waiting
      // An edit made meanwhile takes its place.
      if (first?.change.id === waiting.change.id) draft.set({ ...row, waiting: behind.length > 0 ? behind : [waiting] })
    }
  })
}
