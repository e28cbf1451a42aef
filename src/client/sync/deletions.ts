import { correctedNow, type Engine } from './engine.ts'
import { applyEdit } from './queue.ts'
import { releaseHeld, viewOf } from './row.ts'
import { sealAll } from './seal.ts'

/** More deletes than both of these, within a pull or a minute, are not believed without a yes. */
const fewDeletes = 5
const smallShare = 0.2
const recentMs = 60_000

/** Takes over the deletes that a pull or the channel brought, unless they are so many that the user is to say so. */
export async function settleDeletions(engine: Engine): Promise<void> {
  const { replica } = engine
  if (replica.held.size === 0 && !replica.meta.guarding) return
  const now = correctedNow(engine)
  const recent = engine.recentDeletions.filter((time) => Math.abs(now - time) < recentMs)
  const deletes = replica.held.size + recent.length
  const share = deletes / (replica.live.size + recent.length)
  const guarding = replica.held.size > 0 && deletes > fewDeletes && share > smallShare
  if (guarding) {
    await replica.commit([], 'remote', (draft) => draft.setMeta({ guarding }))
  } else {
    const applied = await applyHeld(engine)
    engine.recentDeletions = [...recent, ...Array.from({ length: applied }, () => now)]
  }
  engine.status.refresh()
}

/** The user's yes: what other devices deleted goes. */
export async function approveDeletions(engine: Engine): Promise<void> {
  await applyHeld(engine)
  engine.status.refresh()
}

/** The user's no: each comes back as an edit on top of its delete. */
export async function rejectDeletions(engine: Engine): Promise<void> {
  const { replica } = engine
  const { cursor } = replica.meta
  const bookmarks = [...replica.held].flatMap((id) => viewOf(replica.rows.get(id)).bookmark ?? [])
  const edits = await sealAll(engine, bookmarks)
  await replica.commit([...replica.held], 'local', (draft) => {
    for (const edit of edits) {
      const row = draft.get(edit.id)
      if (row.held) applyEdit(engine, draft, releaseHeld(row), edit, cursor)
    }
    draft.setMeta({ guarding: false })
  })
  engine.status.refresh()
  engine.work.ring()
}

async function applyHeld({ replica }: Engine): Promise<number> {
  const ids = [...replica.held]
  return replica.commit(ids, 'remote', (draft) => {
    const held = ids.map((id) => draft.get(id)).filter((row) => row.held)
    for (const row of held) draft.set(releaseHeld(row))
    draft.setMeta({ guarding: false })
    return held.length
  })
}
