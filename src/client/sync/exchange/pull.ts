import type { Deletions } from '../edits/deletions.ts'
import { correctedNow } from '../store/service-clock.ts'
import { type TakeParts, takePage } from './take.ts'
import type { Transport } from './transport.ts'

export interface PullParts extends TakeParts {
  transport: Transport
  deletions: Deletions
}

/** Pulls everything new in pages of the service's size; each page is stored together with the cursor after it. */
export async function pullAll(parts: PullParts, signal: AbortSignal): Promise<void> {
  const { transport, replica, clock, deletions } = parts
  for (let hasMore = true; hasMore; ) {
    const since = replica.meta.cursor
    const page = await transport.pull({ since }, { signal })
    signal.throwIfAborted()
    const ended = page.has_more ? {} : { lastSync: correctedNow(clock, replica.meta) }
    const meta = { cursor: page.last_sync_timestamp, ...ended }
    const outcome = await takePage(parts, page.changes, since, meta, signal)
    hasMore = page.has_more || outcome === 'doubt'
  }
  await deletions.settle()
}
