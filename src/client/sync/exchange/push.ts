import { ApiError } from '../../errors.ts'
import { versionOf } from '../store/row.ts'
import { correctClock } from '../store/service-clock.ts'
import type { Waiting } from '../store/store.ts'
import { returnBatch, takeBatch } from './batch.ts'
import { settleFirst } from './merge.ts'
import type { Outbox } from './outbox.ts'
import type { PullParts } from './pull.ts'
import { resolveRejected } from './rejected.ts'
import type { PushResponse } from './transport.ts'

export interface PushParts extends PullParts {
  outbox: Outbox
}

/**
 * Sends the pending changes in batches. A change leaves the queue only when a response, or a version that the service
 * sent, settles it. So if a response is lost, the change is sent again as the same event.
 */
export async function pushAll(parts: PushParts, signal: AbortSignal): Promise<void> {
  if (parts.outbox.isRefused) return
  try {
    await pushWaiting(parts, signal, () => true)
  } catch (error) {
    if (!isRefusal(error)) throw error
    parts.outbox.refuse()
    // Above the quota, the service still accepts deletes that are sent on their own.
    if (error.status === 413) await pushWaiting(parts, signal, isDelete)
    throw error
  }
}

async function pushWaiting(parts: PushParts, signal: AbortSignal, fits: (waiting: Waiting) => boolean): Promise<void> {
  for (;;) {
    const batch = await takeBatch(parts, fits)
    if (batch.length === 0) return
    const answer = await send(parts, batch, signal)
    signal.throwIfAborted()
    const rejected = await settle(parts, batch, answer)
    if (rejected.length > 0) await resolveRejected(parts, rejected, answer.timestamp, signal)
  }
}

async function send(parts: PushParts, batch: readonly Waiting[], signal: AbortSignal): Promise<PushResponse> {
  try {
    return await parts.transport.push({ changes: batch.map(({ change }) => change) }, { signal })
  } catch (error) {
    if (isRefusal(error)) await returnBatch(parts.replica, batch)
    throw error
  }
}

/** Returns the changes that were not accepted. */
async function settle(parts: PushParts, batch: readonly Waiting[], answer: PushResponse): Promise<Waiting[]> {
  const { replica, clock } = parts
  const accepted = new Set(answer.accepted_ids)
  const ids = batch.map(({ change }) => change.entity_id)
  await replica.commit(ids, 'remote', (draft) => {
    correctClock(draft, clock, answer.timestamp)
    for (const { change } of batch) {
      const row = draft.get(change.entity_id)
      const [first] = row.waiting
      if (accepted.has(change.id) && first?.change.id === change.id) draft.set(settleFirst(row, versionOf(first)))
    }
  })
  return batch.filter(({ change }) => !accepted.has(change.id))
}

function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 400 || error.status === 413)
}

function isDelete({ change }: Waiting): boolean {
  return change.operation === 'delete'
}
