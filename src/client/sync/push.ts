import { ApiError } from '../errors.ts'
import { returnBatch, takeBatch } from './batch.ts'
import { correctClock } from './clock-offset.ts'
import type { Engine } from './engine.ts'
import { settleFirst } from './merge.ts'
import { resolveRejected } from './rejected.ts'
import { versionOf } from './row.ts'
import type { Waiting } from './store.ts'
import type { PushResponse } from './transport.ts'

/**
 * Sends what waits, batch by batch. A change leaves the queue only when an answer, or a version that came from the
 * service, settles it; so after a lost answer it is sent again, as the same event.
 */
export async function pushAll(engine: Engine, signal: AbortSignal): Promise<void> {
  if (engine.isPushRefused) return
  try {
    await pushWaiting(engine, signal, () => true)
  } catch (error) {
    // Sending the same again would bring the same answer: first something is to change.
    if (isRefusal(error)) engine.isPushRefused = true
    // Above the quota, deletes are taken by themselves.
    if (isRefusal(error) && error.status === 413) await pushWaiting(engine, signal, isDelete)
    throw error
  }
}

async function pushWaiting(engine: Engine, signal: AbortSignal, fits: (waiting: Waiting) => boolean): Promise<void> {
  for (;;) {
    const batch = await takeBatch(engine, fits)
    if (batch.length === 0) return
    const answer = await send(engine, batch, signal)
    signal.throwIfAborted()
    const rejected = await settle(engine, batch, answer)
    if (rejected.length > 0) await resolveRejected(engine, rejected, answer.timestamp, signal)
  }
}

async function send(engine: Engine, batch: readonly Waiting[], signal: AbortSignal): Promise<PushResponse> {
  try {
    return await engine.transport.push({ changes: batch.map(({ change }) => change) }, { signal })
  } catch (error) {
    if (isRefusal(error)) await returnBatch(engine, batch)
    throw error
  }
}

/** Returns what was not accepted. */
async function settle(engine: Engine, batch: readonly Waiting[], answer: PushResponse): Promise<Waiting[]> {
  const { replica, clock, status } = engine
  const accepted = new Set(answer.accepted_ids)
  const ids = batch.map(({ change }) => change.entity_id)
  await replica.commit(ids, 'local', (draft) => {
    correctClock(draft, clock, answer.timestamp)
    for (const { change } of batch) {
      const row = draft.get(change.entity_id)
      const [first] = row.waiting
      if (accepted.has(change.id) && first?.change.id === change.id) draft.set(settleFirst(row, versionOf(first)))
    }
  })
  status.refresh()
  return batch.filter(({ change }) => !accepted.has(change.id))
}

function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 400 || error.status === 413)
}

function isDelete({ change }: Waiting): boolean {
  return change.operation === 'delete'
}
