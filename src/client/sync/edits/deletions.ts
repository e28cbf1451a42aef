import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import type { Engine } from '../engine.ts'
import type { Replica } from '../store/replica.ts'
import { releaseHeld, viewOf } from '../store/row.ts'
import { correctedNow } from '../store/service-clock.ts'
import type { Row } from '../store/store.ts'
import { applyEdit, sealAll } from './edit.ts'
import { areManyDeletes, recentMs } from './many-deletes.ts'

/**
 * Applies other devices' deletes, which are held until their pull, or a batch of realtime messages, has ended. If there are
 * many, keeps them for the user's approval instead, together with those of the last minute that were already applied.
 */
export async function settleDeletions({ replica, clock, recentDeletes }: Engine): Promise<void> {
  const { live, meta } = replica
  const ids = [...replica.held]
  if (ids.length === 0 && !meta.guarding) return
  const now = correctedNow(clock, meta)
  let recent = recentDeletes.filter(([, time]) => Math.abs(now - time) < recentMs)
  const rejected = recent.filter(([{ id }]) => live.has(id))
  const areMany = (lost: number) =>
    lost > 0 && areManyDeletes(lost + recent.length, live.size + recent.length - rejected.length)
  const guarding = areMany(ids.length) && areMany(ids.length - (await findMoved(replica)).size)
  if (guarding) {
    await holdAgain(replica, recent)
    recent = rejected
  } else for (const row of await applyHeld(replica, ids)) recent.push([row, now])
  recentDeletes.splice(0, recentDeletes.length, ...recent)
}

/**
 * Finds held deletes of links that the user has not lost: a link with the same title and address was created, or edited in
 * the same folder, at most a minute before the delete or later. Returns the ids of the deleted links.
 */
async function findMoved({ rows, held }: Replica): Promise<ReadonlySet<string>> {
  const lost = new Map<string, Row[]>()
  for (const id of held) {
    const row = rows.get(id) as Row
    const name = nameOf(row)
    if (name !== undefined) lost.set(name, [...(lost.get(name) ?? []), row])
  }
  const moved = new Set<string>()
  await paced(rows.values(), (row) => {
    const same = lost.get(row.held ? '' : (nameOf(row) ?? '')) ?? []
    const { operation, timestamp, bookmark } = viewOf(row)
    const at = same.findIndex((one) => {
      const before = viewOf(one)
      const isThere = operation === 'create' || bookmark?.parentId === before.bookmark?.parentId
      return isThere && timestamp > Math.max(before.timestamp, (one.held?.timestamp ?? 0) - recentMs)
    })
    // Each remaining link makes up for only one of the held deletes.
    for (const { id } of at === -1 ? [] : same.splice(at, 1)) moved.add(id)
  })
  return moved
}

/** Identifies a link by its title and address; undefined for folders and separators. */
function nameOf(row: Row): string | undefined {
  const { title, url } = viewOf(row).bookmark ?? {}
  return url === undefined ? undefined : JSON.stringify([title, url])
}

async function holdAgain(replica: Replica, recent: Engine['recentDeletes']): Promise<void> {
  const ids = recent.map(([{ id }]) => id)
  await replica.commit(ids, 'remote', (draft) => {
    for (const [{ id, version, held }] of recent) {
      const row = draft.get(id)
      // A bookmark that was undeleted since is left alone.
      if (row.version?.event_id === held?.event_id && row.waiting.length === 0) draft.set({ ...row, version, held })
    }
    draft.setMeta({ guarding: true })
  })
}

/**
 * Applies the held deletes that the user was shown and approved. Deletes that have arrived since stay held.
 *
 * @param shown the bookmarks' ids, or how many of `held` were shown, from the first on
 * @param held the bookmarks of all deletes held at the approval, in the order in which the deletes arrived
 */
export async function approveDeletions(
  { replica }: Engine,
  shown: number | readonly string[],
  held: readonly PlaintextBookmark[],
): Promise<void> {
  if (typeof shown === 'number' ? !Number.isSafeInteger(shown) || shown < 0 : !Array.isArray(shown)) {
    throw new RangeError(`Deletes are approved by their ids or their number, not by ${shown}`)
  }
  await applyHeld(replica, typeof shown === 'number' ? held.slice(0, shown).map(({ id }) => id) : shown)
}

/**
 * Rejects the held deletes: undeletes each bookmark by an edit on top of its delete, unless `findMoved` finds the link under
 * another id. Deletes that arrive within the next minute are counted together with these.
 */
export async function rejectDeletions(parts: Engine): Promise<void> {
  const { replica, keys, clock, recentDeletes } = parts
  const { cursor } = replica.meta
  const moved = await findMoved(replica)
  const answered = new Set(replica.held)
  const lost = [...answered].filter((id) => !moved.has(id))
  const bookmarks = lost.flatMap((id) => viewOf(replica.rows.get(id)).bookmark ?? [])
  const edits = await sealAll(
    keys,
    bookmarks.map((bookmark) => [bookmark.id, bookmark]),
  )
  const now = correctedNow(clock, replica.meta)
  await replica.commit([...answered], 'local', async (draft) => {
    await paced(edits, (edit) => {
      const row = draft.get(edit.id)
      if (!row.held) return
      recentDeletes.push([row, now])
      applyEdit(draft, releaseHeld(row), edit, parts, { cursor })
    })
    for (const row of [...moved].map((id) => draft.get(id))) draft.set(releaseHeld(row))
    // More deletes may have arrived while the bookmarks were encrypted.
    draft.setMeta({ guarding: [...replica.held].some((id) => !answered.has(id)) })
  })
}

/** Applies held deletes. Returns the rows as they were before. */
async function applyHeld(replica: Replica, ids: readonly string[]): Promise<Row[]> {
  return replica.commit(ids, 'remote', (draft) => {
    const held = ids.map((id) => draft.get(id)).filter((row) => row.held)
    for (const row of held) draft.set(releaseHeld(row))
    if (held.length >= replica.held.size) draft.setMeta({ guarding: false })
    return held
  })
}
