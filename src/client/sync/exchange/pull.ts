import type { Deletions } from '../edits/deletions.ts'
import type { Replica } from '../store/replica.ts'
import { correctedNow } from '../store/service-clock.ts'
import type { Meta, Row } from '../store/store.ts'
import { type RestoreParts, restore } from './restore.ts'
import { nameOf, takePage } from './take.ts'

export interface PullParts extends RestoreParts {
  deletions: Deletions
}

/** Pulls everything new, or all there is if the service was restored from a backup. */
export async function pullAll(parts: PullParts, signal: AbortSignal): Promise<void> {
  const isWhole = await pullNew(parts, signal)
  if (!isWhole) await restore(parts, signal)
  await parts.deletions.settle()
}

/**
 * Pulls in pages of the service's size; each page is stored together with the cursor after it. The first one begins with
 * the last change of the pull before, so that a service which has lost that is found out even if its cursor is not lower.
 *
 * @returns false if the service no longer has changes that it had sent or accepted
 */
async function pullNew(parts: PullParts, signal: AbortSignal): Promise<boolean> {
  const { transport, replica, clock } = parts
  let since = startOf(replica.meta)
  let awaited = replica.meta.witness
  const brought = new Set<string>()
  const request = (from: number) => transport.pull({ since: from }, { signal })
  let coming = request(since)
  for (;;) {
    const { cursor } = replica.meta
    const page = await coming
    signal.throwIfAborted()
    const end = page.last_sync_timestamp
    const last = page.changes.at(-1)
    for (const event of page.changes) brought.add(nameOf(event))
    if (brought.has(awaited)) awaited = ''
    if (end < since || (!page.has_more && (end < cursor || awaited !== ''))) return false
    // Before the last page is taken: what other devices have sent again may be older than what this one knows.
    if (!page.has_more && !(await hasAccepted(replica, brought))) return false
    const meta = {
      cursor: Math.max(cursor, end),
      ...(last && { pulled: end, witness: awaited || nameOf(last) }),
      ...(!page.has_more && { lastSync: correctedNow(clock, replica.meta) }),
    }
    if (page.has_more) coming = early(request(end))
    const outcome = await takePage(parts, page.changes, since, meta, signal)
    if (outcome === 'taken' && !page.has_more) return true
    since = outcome === 'doubt' ? startOf(replica.meta) : end
    if (outcome === 'taken') continue
    awaited = replica.meta.witness
    coming = request(since)
  }
}

/** The next page comes while this one is decrypted and stored. If that fails, nobody waits for it. */
function early<T>(page: Promise<T>): Promise<T> {
  page.catch(() => {})
  return page
}

function startOf({ cursor, pulled }: Meta): number {
  return pulled === 0 ? cursor : Math.min(cursor, pulled - 1)
}

/** Whether every change of this device that the service has accepted came back: the realtime channel does not bring them. */
async function hasAccepted(replica: Replica, brought: ReadonlySet<string>): Promise<boolean> {
  const isMissing = ({ version, held, unreadable }: Row) => version?.confirmed === false && !held && !unreadable
  const ids = [...replica.unconfirmed].filter((id) => {
    const row = replica.rows.get(id)
    return row && isMissing(row) && !brought.has(`bookmark/${id}`)
  })
  if (ids.length === 0) return true
  // In the store, another tab may have confirmed them.
  return replica.commit(ids, 'remote', (draft) => !ids.some((id) => isMissing(draft.get(id))))
}
