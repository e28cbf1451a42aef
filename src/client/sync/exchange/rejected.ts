import { isFarAhead } from '../../../protocol/far-ahead.ts'
import { isEqual } from '../../bookmark/equal.ts'
import { uuidv7 } from '../../ids.ts'
import { latestTimestamp, viewOf } from '../store/row.ts'
import type { Row, Waiting } from '../store/store.ts'
import { demandUser } from './demand-user.ts'
import { lostWhole, overwriting } from './merge.ts'
import { type PullParts, pullAll } from './pull.ts'

/**
 * Pulls the winning versions, with which the changes are merged; what loses is told to the user. A change that is still as it
 * was is refused for another reason: another user is signed in, its time was too far ahead, or what it would overwrite
 * cannot be decrypted; then it overwrites that, unless that wins.
 */
export async function resolveRejected(
  parts: PullParts,
  rejected: readonly Waiting[],
  serverTime: number,
  signal: AbortSignal,
): Promise<void> {
  const { replica } = parts
  await pullAll(parts, signal)
  const unexplained = rejected.filter((one) => isAsBefore(replica.rows.get(one.change.entity_id), one))
  if (unexplained.length === 0) return
  await demandUser(parts, signal)
  const ids = unexplained.map(({ change }) => change.entity_id)
  await replica.commit(ids, 'remote', (draft) => {
    for (const one of unexplained) {
      const row = draft.get(one.change.entity_id)
      if (!isAsBefore(row, one)) continue
      const dropped = { ...row, waiting: row.waiting.slice(1) }
      const next = restamp(row, one, serverTime) ?? (one.overwrites ? dropped : overwriting(row))
      draft.set(next)
      if (next.waiting.length === 0) draft.lose(next, lostWhole(row, viewOf(next)))
    }
  })
}

function isAsBefore(row: Row | undefined, rejected: Waiting): boolean {
  return isEqual(row?.waiting[0], { ...rejected, sent: true })
}

/**
 * If the change was refused for being too far ahead of the service's time: the row with the edit at that time, as a
 * new event, since the service stored nothing of it. Otherwise undefined.
 */
function restamp(row: Row, { change }: Waiting, serverTime: number): Row | undefined {
  const last = row.waiting.at(-1)
  if (!last || !isFarAhead(change.timestamp, serverTime)) return undefined
  const timestamp = Math.max(serverTime, latestTimestamp(row, []) + 1)
  // The version it is based on is itself too far ahead: nothing newer would be accepted.
  if (isFarAhead(timestamp, serverTime)) return undefined
  return { ...row, waiting: [{ ...last, change: { ...last.change, id: uuidv7(), timestamp }, sent: false }] }
}
