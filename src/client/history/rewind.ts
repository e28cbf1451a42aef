import type { Client } from '../api/client.ts'
import { unwrap } from '../api/unwrap.ts'
import { answer } from '../sync/exchange/transport.ts'
import type { Sync } from '../sync/sync.ts'
import { pullResult } from './pull-result.ts'

/** The time that a rewind goes back to, and whether it only counts. */
export interface RewindOptions {
  /** The time to go back to, by the service's clock (Unix ms). After a large import, its changes are some seconds ahead of it. */
  to: number
  /** Whether only to count. */
  dryRun: boolean
  /** Called after each 10,000 bookmarks with the counts so far; the sum of a dry run's counts is the total. */
  onProgress?: ((counts: RewindCounts) => void) | undefined
  signal?: AbortSignal | undefined
}

/** What became, or would become, of the bookmarks, live and deleted. */
export interface RewindCounts {
  /** Have their content of then again. */
  restored: number
  /** Were made later, or were deleted then. */
  deleted: number
  /** Are as they were then. */
  unchanged: number
  /** Stay as they are, because their version of then is not kept any more. */
  beyondRetention: number
}

export async function rewind(
  client: Client,
  sync: Pick<Sync, 'syncNow' | 'heldDeletions' | 'approveDeletions'>,
  { to, dryRun, onProgress, signal }: RewindOptions,
): Promise<RewindCounts> {
  const options = signal ? { signal } : {}
  await sync.syncNow(options)
  const heldBefore = new Set(sync.heldDeletions().map(({ id }) => id))
  let counts: RewindCounts = { restored: 0, deleted: 0, unchanged: 0, beyondRetention: 0 }
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const body = { to, dry_run: dryRun, ...(cursor && { cursor }) }
    const request = client.POST('/api/v1/sync/rewind', { body, middleware: [byNoDevice], ...options })
    const { restored, deleted, unchanged, beyond_retention, next } = unwrap(await answer(request))
    counts = {
      restored: counts.restored + restored,
      deleted: counts.deleted + deleted,
      unchanged: counts.unchanged + unchanged,
      beyondRetention: counts.beyondRetention + beyond_retention,
    }
    onProgress?.(counts)
    cursor = next
  }
  if (dryRun) return counts
  await pullResult(async () => {
    await sync.syncNow(options)
    const came = sync.heldDeletions().flatMap(({ id }) => (heldBefore.has(id) ? [] : id))
    // More than the rewind has made are not what the user has agreed to.
    if (came.length > 0 && came.length <= counts.deleted) await sync.approveDeletions(came)
  })
  return counts
}

/**
 * The device's own id would tell the sync that an edit made here meanwhile was made on top of the rewind: it would undo it
 * instead of being merged with it.
 */
const byNoDevice = {
  onRequest({ request }: { request: Request }) {
    request.headers.delete('x-device-id')
  },
}
