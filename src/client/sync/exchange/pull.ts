import type { Clock } from '../../timing/clock.ts'
import type { Deletions } from '../edits/deletions.ts'
import { correctedNow } from '../store/service-clock.ts'
import { type TakeParts, takePage } from './take.ts'
import type { Transport } from './transport.ts'

export interface PullParts extends TakeParts {
  transport: Transport
  clock: Clock
  deletions: Deletions
}

/** Pulls everything new in pages of the service's size; each page is stored together with the cursor after it. */
export async function pullAll(parts: PullParts, signal: AbortSignal): Promise<void> {
  const { transport, replica, clock, deletions } = parts
  for (let hasMore = true; hasMore; ) {
    const page = await transport.pull({ since: replica.meta.cursor }, { signal })
    signal.throwIfAborted()
    hasMore = page.has_more
    const ended = hasMore ? {} : { lastSync: correctedNow(clock, replica.meta) }
    await takePage(parts, page.changes, { cursor: page.last_sync_timestamp, ...ended }, signal)
  }
  await deletions.settle()
}
