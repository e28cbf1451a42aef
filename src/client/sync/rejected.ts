import { SignedOutError } from '../errors.ts'
import type { Engine } from './engine.ts'
import { pullAll } from './pull.ts'
import { restamp } from './restamp.ts'
import { viewOf } from './row.ts'
import type { Waiting } from './store.ts'

/**
 * What won is pulled, which settles the loser and tells the user. What no version explains was refused for another
 * reason: another user is signed in, or the time was too far ahead, or the winner does not open.
 */
export async function resolveRejected(
  engine: Engine,
  rejected: readonly Waiting[],
  serverTime: number,
  signal: AbortSignal,
): Promise<void> {
  const { replica, transport, userId, status } = engine
  await pullAll(engine, signal)
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
  status.refresh()
}
