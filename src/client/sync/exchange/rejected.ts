import { isFarAhead } from '../../../protocol/far-ahead.ts'
import { SignedOutError } from '../../errors.ts'
import { uuidv7 } from '../../uuid.ts'
import { fieldsLost } from '../store/conflicts.ts'
import { latestTimestamp, viewOf } from '../store/row.ts'
import type { Row, Waiting } from '../store/store.ts'
import { type PullParts, pullAll } from './pull.ts'

/**
 * Pulls the winning versions, which settles the losing changes and tells the user. A change without a winning version was
 * refused for another reason: another user is signed in, its time was too far ahead, or the winner cannot be decrypted.
 */
export async function resolveRejected(
  parts: PullParts,
  rejected: readonly Waiting[],
  serverTime: number,
  signal: AbortSignal,
): Promise<void> {
  const { replica, transport, userId } = parts
  await pullAll(parts, signal)
  const unexplained = rejected.filter(({ change }) => {
    return replica.rows.get(change.entity_id)?.waiting[0]?.change.id === change.id
  })
  if (unexplained.length === 0) return
  if ((await transport.getUserId({ signal })) !== userId) throw new SignedOutError('Another user is signed in')
  const ids = unexplained.map(({ change }) => change.entity_id)
  await replica.commit(ids, 'remote', (draft) => {
    for (const { change, bookmark } of unexplained) {
      const row = draft.get(change.entity_id)
      const [first, ...behind] = row.waiting
      if (first?.change.id !== change.id) continue
      const restamped = restamp(row, serverTime)
      draft.set(restamped ?? { ...row, waiting: behind })
      if (restamped || behind.length > 0) continue
      const dropped = { ...row, waiting: [] }
      const theirs = viewOf(dropped).bookmark
      draft.lose(dropped, { fields: fieldsLost(bookmark, theirs), mine: bookmark, theirs })
    }
  })
}

/**
 * If the pending edit was refused for being too far ahead of the service's time: the row with the edit at that time, as a
 * new event, since the service stored nothing of it. Otherwise undefined.
 */
function restamp(row: Row, serverTime: number): Row | undefined {
  const [first] = row.waiting
  const last = row.waiting.at(-1)
  if (!first || !last || !isFarAhead(first.change.timestamp, serverTime)) return undefined
  const timestamp = Math.max(serverTime, latestTimestamp(row, []) + 1)
  // The version it is based on is itself too far ahead: nothing newer would be accepted.
  if (isFarAhead(timestamp, serverTime)) return undefined
  return { ...row, waiting: [{ ...last, change: { ...last.change, id: uuidv7(), timestamp }, sent: false }] }
}
