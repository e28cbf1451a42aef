import type { PlaintextBookmark } from '../../bookmark.ts'
import { UnsentChangesError } from '../../errors.ts'
import { Draft } from './draft.ts'
import type { Conflict, Emitter, SyncEvents } from './emitter.ts'
import { blankRow, isBlank, viewOf } from './row.ts'
import type { Meta, Row, Store } from './store.ts'
import type { Tabs } from './tabs.ts'

type Origin = SyncEvents['change']['origin']

interface Parts {
  userId: string
  store: Store
  tabs: Tabs
  emitter: Emitter
  /** Called after each change of the replica, once listeners have been told. */
  onChange(): void
  /** Called when this tab or another has stored an edit. */
  onEdit(): void
}

/** The store's content in memory, and the only way to change both. */
export class Replica {
  readonly rows = new Map<string, Row>()
  /** The bookmarks that the user sees. */
  readonly live = new Map<string, PlaintextBookmark>()
  /** Ids with pending changes, oldest first. */
  readonly waiting = new Set<string>()
  readonly held = new Set<string>()
  meta: Readonly<Meta>
  readonly #parts: Parts
  #isClosed = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.meta = newMeta(parts.userId)
  }

  /** Reads the whole store: at the start, and when messages of other tabs may have been missed. */
  async load(): Promise<void> {
    this.#tell(await this.#inTurn(() => this.#loadAll()), 'local')
  }

  /**
   * Reads these rows, lets `work` change them, and stores all or nothing. Listeners and other tabs are told afterwards.
   * Only one commit runs at a time across all tabs, so an edit and a page of changes never overwrite each other.
   *
   * @param origin `local`: an edit of this device; `remote`: a result of the exchange with the service
   * @throws StorageFullError nothing was changed
   */
  async commit<T>(ids: readonly string[], origin: Origin, work: (draft: Draft) => T): Promise<T> {
    const { store, tabs, userId, onEdit } = this.#parts
    return this.#inTurn(async () => {
      const { meta = newMeta(userId), rows } = await store.read(ids)
      const draft = new Draft(meta, rows)
      const result = work(draft)
      if (draft.isChanged) await store.write(draft.changedRows, draft.meta)
      const seen = this.#adopt(draft.changedRows, draft.meta)
      if (draft.isChanged) {
        const changed = draft.changedRows.map(({ id }) => id)
        tabs.post({ type: 'rows', ids: changed, origin, conflicts: draft.conflicts })
      }
      this.#tell(seen, origin, draft)
      if (draft.isChanged && origin === 'local') onEdit()
      return result
    })
  }

  /** Reads rows that another tab has stored, and emits the conflicts that it reported. */
  async reload(ids: readonly string[], origin: Origin, conflicts: readonly Conflict[] = []): Promise<void> {
    const { store, onEdit } = this.#parts
    const seen = await this.#inTurn(async () => {
      const { meta = this.meta, rows } = await store.read(ids)
      const found = new Set(rows.map(({ id }) => id))
      const gone = ids.filter((id) => !found.has(id)).map(blankRow)
      return this.#adopt([...rows, ...gone], meta)
    })
    this.#tell(seen, origin, { conflicts })
    if (origin === 'local') onEdit()
  }

  /**
   * Deletes everything from the store, and refuses every later commit.
   *
   * @param begin called before anything is deleted, once nothing stands against it
   * @throws UnsentChangesError nothing was deleted
   */
  async wipe({ discardUnsent, begin }: { discardUnsent: boolean; begin(): void }): Promise<void> {
    const seen = await this.#inTurn(async () => {
      const changed = await this.#loadAll()
      if (discardUnsent || this.waiting.size === 0) {
        begin()
        this.#isClosed = true
        await this.#parts.store.wipe()
      }
      return changed
    })
    this.#tell(seen, 'local')
    if (!this.#isClosed) throw new UnsentChangesError(this.waiting.size)
  }

  close(): void {
    this.#isClosed = true
    this.#parts.store.close()
  }

  /** Clears this copy in memory; the store stays as it is. */
  forget(): void {
    for (const collection of [this.rows, this.live, this.waiting, this.held]) collection.clear()
    this.meta = newMeta(this.#parts.userId)
  }

  /** Runs the task while no other one uses the store. What waited for its turn while the sync was stopped is refused. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    return this.#parts.tabs.exclusively('store', async () => {
      if (this.#isClosed) throw new DOMException('The sync was stopped', 'AbortError')
      return task()
    })
  }

  async #loadAll(): Promise<string[]> {
    const { store, userId } = this.#parts
    const { meta = newMeta(userId), rows } = await store.load()
    if (meta.userId !== userId) throw new Error(`The store is another user's: ${meta.userId}`)
    const stored = new Set(rows.map(({ id }) => id))
    const gone = [...this.rows.keys()].filter((id) => !stored.has(id)).map(blankRow)
    const changed = this.#adopt([...rows, ...gone], meta)
    const inOrder = [...this.waiting].sort((one, other) => (this.#firstEvent(one) < this.#firstEvent(other) ? -1 : 1))
    this.waiting.clear()
    for (const id of inOrder) this.waiting.add(id)
    return changed
  }

  /** Returns the ids of bookmarks that now look different to the user. */
  #adopt(rows: readonly Row[], meta: Meta): string[] {
    this.meta = meta
    return rows.flatMap((row) => {
      const before = viewOf(this.rows.get(row.id))
      const after = viewOf(row)
      if (isBlank(row)) this.rows.delete(row.id)
      else this.rows.set(row.id, row)
      keep(this.waiting, row.id, row.waiting.length > 0)
      keep(this.held, row.id, row.held !== null)
      if (after.bookmark) this.live.set(row.id, after.bookmark)
      else this.live.delete(row.id)
      return before.data_hash === after.data_hash ? [] : row.id
    })
  }

  #tell(
    seen: string[],
    origin: Origin,
    { conflicts = [], errors = [] }: { conflicts?: readonly Conflict[]; errors?: readonly SyncEvents['error'][] } = {},
  ): void {
    const { emitter, onChange } = this.#parts
    if (seen.length > 0) emitter.emit('change', { ids: seen, origin })
    for (const conflict of conflicts) emitter.emit('conflict', conflict)
    for (const error of errors) emitter.emit('error', error)
    onChange()
  }

  #firstEvent(id: string): string {
    return this.rows.get(id)?.waiting[0]?.change.id ?? ''
  }
}

function keep(set: Set<string>, id: string, isIn: boolean): void {
  if (isIn) set.add(id)
  else set.delete(id)
}

function newMeta(userId: string): Meta {
  return { userId, cursor: 0, clockOffset: 0, lastTick: 0, lastSync: 0, guarding: false }
}
