import { type DeletionParts, settleDeletions } from '../edits/deletions.ts'
import { correctedNow } from '../store/service-clock.ts'
import { demandProgress, type RestoreParts, restore } from './restore.ts'
import { takePage } from './take.ts'

export type PullParts = RestoreParts & DeletionParts

/** Pulls everything new, or all there is if the service was restored from a backup. */
export async function pullAll(parts: PullParts, signal: AbortSignal): Promise<void> {
  const isWhole = await pullNew(parts, signal)
  if (!isWhole) await restore(parts, signal)
  await settleDeletions(parts)
}

/**
 * Pulls in pages of the service's size; each page is stored together with the cursor after it.
 *
 * @returns false if the service was restored from a backup
 */
async function pullNew(parts: PullParts, signal: AbortSignal): Promise<boolean> {
  const { transport, replica, clock } = parts
  const request = (from: number) => transport.pull({ since: from }, { signal })
  let since = replica.meta.cursor
  let coming = request(since)
  for (;;) {
    const page = await coming
    signal.throwIfAborted()
    const { last_sync_timestamp: cursor, epoch } = page
    if (epoch !== (replica.meta.epoch ?? epoch) || cursor < since) return false
    demandProgress(page, since)
    const end = { lastSync: correctedNow(clock, replica.meta), isIncomplete: false }
    if (page.has_more) coming = early(request(cursor))
    const meta = { cursor, epoch, ...(!page.has_more && end) }
    const outcome = await takePage(parts, page.changes, since, meta, signal)
    if (outcome === 'taken' && !page.has_more) return true
    since = outcome === 'taken' ? cursor : replica.meta.cursor
    if (outcome === 'doubt') coming = request(since)
  }
}

/** The next page comes while this one is decrypted and stored. If that fails, nobody waits for it. */
function early<T>(page: Promise<T>): Promise<T> {
  page.catch(() => {})
  return page
}
