import type { PlaintextBookmark } from '../../bookmark.ts'
import { paced } from '../../timing/paced.ts'
import { releaseHeld, viewOf } from '../store/row.ts'
import { correctedNow } from '../store/service-clock.ts'
import { applyEdit } from './edit.ts'
import type { EditParts } from './queue.ts'
import { sealAll } from './seal.ts'

/** If the deletes of one pull or one minute exceed both of these, the user must approve them. */
const fewDeletes = 5
const smallShare = 0.2
const recentMs = 60_000

/** Deletes made by other devices: applied at once, or held until the user approves them. */
export class Deletions {
  readonly #parts: EditParts
  /** When the latest deletes were applied without asking (Unix ms). */
  #recent: number[] = []

  constructor(parts: EditParts) {
    this.#parts = parts
  }

  /** Applies the deletes that a pull or the channel brought, unless there are so many that the user must approve them. */
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
      const applied = await this.#apply([...replica.held])
      this.#recent = [...recent, ...Array.from({ length: applied }, () => now)]
    }
  }

  /** The bookmarks that the held deletes would remove, those first that were deleted first. */
  list(): PlaintextBookmark[] {
    const { rows, meta } = this.#parts.replica
    return meta.guarding ? this.#inOrder().flatMap((id) => viewOf(rows.get(id)).bookmark ?? []) : []
  }

  /**
   * The user approves the deletes that they were shown: these ids, or this many of those that came first. What has come
   * since stays held.
   */
  async approve(shown: number | readonly string[]): Promise<void> {
    if (typeof shown === 'number' ? !Number.isSafeInteger(shown) || shown < 0 : !Array.isArray(shown)) {
      throw new RangeError(`Deletes are approved by their ids or their number, not by ${shown}`)
    }
    await this.#apply(typeof shown === 'number' ? this.#inOrder().slice(0, shown) : shown)
  }

  /** The user rejects: each bookmark is restored by an edit on top of its delete. */
  async reject(): Promise<void> {
    const { replica, keys } = this.#parts
    const { cursor } = replica.meta
    const bookmarks = [...replica.held].flatMap((id) => viewOf(replica.rows.get(id)).bookmark ?? [])
    const edits = await sealAll(keys, bookmarks)
    await replica.commit([...replica.held], 'local', async (draft) => {
      await paced(edits, (edit) => {
        const row = draft.get(edit.id)
        if (row.held) applyEdit(draft, releaseHeld(row), edit, this.#parts, { cursor })
      })
      draft.setMeta({ guarding: false })
    })
  }

  /** Returns the number of deletes applied. */
  async #apply(ids: readonly string[]): Promise<number> {
    const { replica } = this.#parts
    return replica.commit(ids, 'remote', (draft) => {
      const held = ids.map((id) => draft.get(id)).filter((row) => row.held)
      for (const row of held) draft.set(releaseHeld(row))
      if (held.length >= replica.held.size) draft.setMeta({ guarding: false })
      return held.length
    })
  }

  #inOrder(): string[] {
    const { held, rows } = this.#parts.replica
    const base = (id: string) => rows.get(id)?.held?.base ?? 0
    return [...held].sort((one, other) => base(one) - base(other))
  }
}
