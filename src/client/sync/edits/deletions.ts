import { releaseHeld, viewOf } from '../store/row.ts'
import { correctedNow } from '../store/service-clock.ts'
import { applyEdit } from './edit.ts'
import type { EditParts } from './queue.ts'
import { sealAll } from './seal.ts'

/** More deletes than both of these, within a pull or a minute, are not believed without a yes. */
const fewDeletes = 5
const smallShare = 0.2
const recentMs = 60_000

/** The deletes that other devices made: taken over at once, or held until the user says yes. */
export class Deletions {
  readonly #parts: EditParts
  /** When the latest were taken over without asking (Unix ms). */
  #recent: number[] = []

  constructor(parts: EditParts) {
    this.#parts = parts
  }

  /** Takes over the deletes that a pull or the channel brought, unless they are so many that the user is to say so. */
  async settle(): Promise<void> {
    const { replica, clock } = this.#parts
    if (replica.held.size === 0 && !replica.meta.guarding) return
    const now = correctedNow(clock, replica.meta)
    const recent = this.#recent.filter((time) => Math.abs(now - time) < recentMs)
    const deletes = replica.held.size + recent.length
    const share = deletes / (replica.live.size + recent.length)
    const guarding = replica.held.size > 0 && deletes > fewDeletes && share > smallShare
    if (guarding) {
      await replica.commit([], 'remote', (draft) => draft.setMeta({ guarding }))
    } else {
      const applied = await this.#apply()
      this.#recent = [...recent, ...Array.from({ length: applied }, () => now)]
    }
  }

  /** The user's yes: what other devices deleted goes. */
  async approve(): Promise<void> {
    await this.#apply()
  }

  /** The user's no: each comes back as an edit on top of its delete. */
  async reject(): Promise<void> {
    const { replica, keys } = this.#parts
    const { cursor } = replica.meta
    const bookmarks = [...replica.held].flatMap((id) => viewOf(replica.rows.get(id)).bookmark ?? [])
    const edits = await sealAll(keys, bookmarks)
    await replica.commit([...replica.held], 'local', (draft) => {
      for (const edit of edits) {
        const row = draft.get(edit.id)
        if (row.held) applyEdit(draft, releaseHeld(row), edit, this.#parts, cursor)
      }
      draft.setMeta({ guarding: false })
    })
  }

  /** Returns how many there were. */
  async #apply(): Promise<number> {
    const { replica } = this.#parts
    const ids = [...replica.held]
    return replica.commit(ids, 'remote', (draft) => {
      const held = ids.map((id) => draft.get(id)).filter((row) => row.held)
      for (const row of held) draft.set(releaseHeld(row))
      draft.setMeta({ guarding: false })
      return held.length
    })
  }
}
