import { v7 as uuidv7 } from 'uuid'
import { isFarAhead } from '../../../protocol/far-ahead.ts'
import { SignedOutError } from '../../errors.ts'
import { viewOf } from '../store/row.ts'
import type { Row, Waiting } from '../store/store.ts'
import { type PullParts, pullAll } from './pull.ts'

/**
 * What won is pulled, which settles the loser and tells the user. What no version explains was refused for another
 * reason: another user is signed in, or the time was too far ahead, or the winner does not open.
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
      draft.conflicts.push({ id: row.id, mine: bookmark, theirs: viewOf({ ...row, waiting: [] }).bookmark })
    }
  })
}

/**
 * The row with its waiting edit at the service's time, if it was refused for being too far ahead of it; undefined if it
 * was not. Nothing of it is there, so it counts as a new event.
 */
function restamp(row: Row, serverTime: number): Row | undefined {
  const [first] = row.waiting
  const last = row.waiting.at(-1)
  if (!first || !last || !isFarAhead(first.change.timestamp, serverTime)) return undefined
  const known = [row.version, row.held, row.unreadable].map((version) => version?.timestamp ?? 0)
  const timestamp = Math.max(serverTime, ...known.map((time) => time + 1))
  // What it was made on is itself too far ahead: nothing above that would be taken.
  if (isFarAhead(timestamp, serverTime)) return undefined
  return { ...row, waiting: [{ ...last, change: { ...last.change, id: uuidv7(), timestamp }, sent: false }] }
}
