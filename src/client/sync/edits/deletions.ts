import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import type { Replica } from '../store/replica.ts'
import { releaseHeld, viewOf } from '../store/row.ts'
import { correctedNow } from '../store/service-clock.ts'
import { applyEdit } from './edit.ts'
import type { EditParts } from './queue.ts'
import { sealAll } from './seal.ts'

/** If the deletes of one pull or one minute exceed both of these, the user must approve them. */
const fewDeletes = 5
const smallShare = 0.2
const recentMs = 60_000

export interface DeletionParts extends EditParts {
  /** When the latest deletes of other devices were applied without asking (Unix ms). */
  recentDeletes: number[]
}

/** Applies the deletes that a pull or the channel brought, unless there are so many that the user must approve them. */
export async function settleDeletions({ replica, clock, recentDeletes }: DeletionParts): Promise<void> {
  if (replica.held.size === 0 && !replica.meta.guarding) return
  const now = correctedNow(clock, replica.meta)
  const recent = recentDeletes.filter((time) => Math.abs(now - time) < recentMs)
  const deletes = replica.held.size + recent.length
  const share = deletes / (replica.live.size + recent.length)
  const guarding = replica.held.size > 0 && deletes > fewDeletes && share > smallShare
  if (guarding) {
    await replica.commit([], 'remote', (draft) => draft.setMeta({ guarding }))
  } else {
    const applied = await applyHeld(replica, [...replica.held])
    recentDeletes.splice(0, recentDeletes.length, ...recent, ...Array.from({ length: applied }, () => now))
  }
}

/**
 * The user approves the deletes that they were shown: these ids, or this many of those that came first. What has come
 * since stays held.
 *
 * @param held all that were held when the user approved, those first that came first
 */
export async function approveDeletions(
  { replica }: EditParts,
  shown: number | readonly string[],
  held: readonly PlaintextBookmark[],
): Promise<void> {
  if (typeof shown === 'number' ? !Number.isSafeInteger(shown) || shown < 0 : !Array.isArray(shown)) {
    throw new RangeError(`Deletes are approved by their ids or their number, not by ${shown}`)
  }
  await applyHeld(replica, typeof shown === 'number' ? held.slice(0, shown).map(({ id }) => id) : shown)
}

/** The user rejects: each bookmark is restored by an edit on top of its delete. */
export async function rejectDeletions(parts: EditParts): Promise<void> {
  const { replica, keys } = parts
  const { cursor } = replica.meta
  const bookmarks = [...replica.held].flatMap((id) => viewOf(replica.rows.get(id)).bookmark ?? [])
  const edits = await sealAll(keys, bookmarks)
  await replica.commit([...replica.held], 'local', async (draft) => {
    await paced(edits, (edit) => {
      const row = draft.get(edit.id)
      if (row.held) applyEdit(draft, releaseHeld(row), edit, parts, { cursor })
    })
    draft.setMeta({ guarding: false })
  })
}

/** Returns the number of deletes applied. */
async function applyHeld(replica: Replica, ids: readonly string[]): Promise<number> {
  return replica.commit(ids, 'remote', (draft) => {
    const held = ids.map((id) => draft.get(id)).filter((row) => row.held)
    for (const row of held) draft.set(releaseHeld(row))
    if (held.length >= replica.held.size) draft.setMeta({ guarding: false })
    return held.length
  })
}
