import { settleDeletions } from '../edits/deletions.ts'
import { newestOf } from '../store/row.ts'
import type { Row } from '../store/store.ts'
import type { PullParts } from './pull.ts'
import { pullAgain } from './restore.ts'

/** Pulls everything again, and tells what the store had lost or kept wrongly. What the service lacks is sent to it. */
export async function mend(parts: PullParts, signal: AbortSignal): Promise<void> {
  const { replica, emitter } = parts
  const before = new Map(replica.rows)
  const { found, pushed } = await pullAgain({ ...parts, isSameHistory: true }, signal)
  const sent = new Set(pushed.map(({ id }) => id))
  const mended = { missing: [] as string[], outdated: [] as string[], deleted: [] as string[], sent: [...sent] }
  for (const id of found.ids) {
    const [was, is] = [hashOf(before.get(id)), hashOf(replica.rows.get(id))]
    // What was changed meanwhile is not wrong.
    if (was === is || found.unseen.has(id) || sent.has(id)) continue
    mended[was === undefined ? 'missing' : is === undefined ? 'deleted' : 'outdated'].push(id)
  }
  await settleDeletions(parts)
  if (Object.values(mended).some(({ length }) => length > 0)) emitter.emit('mended', mended)
}

/** Of what the service has; undefined if it has deleted it. */
function hashOf(row: Row | undefined): string | undefined {
  const version = row && newestOf(row)
  return version?.bookmark ? (version.data_hash ?? undefined) : undefined
}
