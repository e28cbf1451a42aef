import { settleDeletions } from './deletions.ts'
import { correctedNow, type Engine } from './engine.ts'
import { takePage } from './take.ts'

/** The service's default. */
const limit = 1000

/** Takes over all that is new, page by page; each page is stored together with the cursor after it. */
export async function pullAll(engine: Engine, signal: AbortSignal): Promise<void> {
  const { transport, replica } = engine
  for (let hasMore = true; hasMore; ) {
    const page = await transport.pull({ since: replica.meta.cursor, limit }, { signal })
    signal.throwIfAborted()
    hasMore = page.has_more
    const ended = hasMore ? {} : { lastSync: correctedNow(engine) }
    await takePage(engine, page.changes, { cursor: page.last_sync_timestamp, ...ended }, signal)
  }
  await settleDeletions(engine)
  engine.status.refresh()
}
