import { isEqual } from '../../bookmark/equal.ts'
import type { EntityType, PlaintextBookmark } from '../../bookmark.ts'
import { UnsentChangesError } from '../../errors.ts'
import { uuidv7 } from '../../ids.ts'
import { paced } from '../../timing/paced.ts'
import { type Joined, keepConflict, rejoinRow, withoutEnded } from './conflicts.ts'
import type { Conflict, Emitter, SyncEvents } from './emitter.ts'
import { entityTypes, idOf, keysOfType, nameOf, typeOf } from './key.ts'
import { blankMeta, blankRow, completed, isBlank, isQuarantined, viewOf, withoutBase } from './row.ts'
import { type Meta, type Row, type Store, type Stored, StoreEmptiedError } from './store.ts'
import type { Tabs } from './tabs.ts'

type Origin = SyncEvents['change']['origin']

interface Parts {
  userId: string
  /** The entity types that the app wants. */
  types: readonly EntityType[]
  store: Store
  tabs: Tabs
  emitter: Emitter
  /** Updated before a change is emitted. */
  trees: readonly {
    readonly type: EntityType
    update(replica: Pick<Replica, 'lives' | 'rows'>, ids: readonly string[], signal: AbortSignal): Promise<void>
  }[]
  /** Called after each commit or reading of the store, and its events. */
  onChange(): void
  /** Called when this tab or another may have stored an edit. */
  onEdit(): void
}

/** The store's content in memory. All changes of the store go through it. */
export class Replica {
  readonly rows = new Map<string, Row>()
  /** The bookmarks that the user sees, by id. */
  readonly live = new Map<string, PlaintextBookmark>()
  /** The same for each type. */
  readonly lives: Readonly<Record<EntityType, Map<string, PlaintextBookmark>>>
  /** The values that this tab's edits have set, by key (a move: only the place). `applyOver` does not report these as lost. */
  readonly requested = new Map<string, PlaintextBookmark>()
  /** Keys with pending changes, in the order of sending: roughly the oldest first. */
  readonly waiting = new Set<string>()
  /** The keys whose last edit the service refused, or a proxy blocked. */
  readonly quarantined = new Set<string>()
  readonly held = new Set<string>()
  readonly unreadable = new Set<string>()
  /** Keys with conflicts that nobody has resolved. */
  readonly conflicted = new Set<string>()
  /** Errors thrown while the store was in use. Their names do not show that: browsers have a dozen for its faults. */
  readonly faults = new WeakSet<object>()
  meta: Readonly<Meta>
  readonly #parts: Parts
  readonly #closed = new AbortController()
  #hasTypes = false
  /** True once the store has held anything. If it then holds nothing, or is of another generation, the browser has emptied it. */
  #wasStored = false

  constructor(parts: Parts) {
    this.#parts = parts
    this.lives = { bookmark: this.live, group: new Map(), history: new Map() }
    this.meta = newMeta(parts.userId)
  }

  /** Reads the whole store: at the start, before an import, and when messages of other tabs may have been missed. */
  async load(): Promise<void> {
    const { store } = this.#parts
    const seen = await this.#withStored(
      () => store.load(),
      (stored) => this.#adoptAll(stored),
    )
    this.#emit(seen, 'local')
  }

  /**
   * Reads these rows, lets `work` change them, and stores all or nothing. Listeners and other tabs are notified
   * afterwards. Only one commit runs at a time across all tabs, so an edit and a pull never overwrite each other. A `work`
   * that changes thousands of rows should use `paced`, so that the page stays responsive.
   *
   * @param ids a function is called when no other commit runs, so it may use the replica's state at that time
   * @param origin `local`: an edit of this device; `remote`: a result of the exchange with the service
   * @throws StorageFullError nothing was changed
   */
  async commit<T>(
    ids: readonly string[] | (() => readonly string[]),
    origin: Origin,
    work: (draft: Draft) => T | Promise<T>,
  ): Promise<T> {
    const { store, tabs, onEdit } = this.#parts
    const read = () => store.read(typeof ids === 'function' ? ids() : ids)
    return this.#withStored(read, async ({ meta, rows }) => {
      const draft = new Draft(meta, rows)
      const result = await work(draft)
      const stored = draft.isChanged ? await this.#write(draft.changedRows, draft.meta, draft.withdrawn) : draft.meta
      const seen = await this.#adopt(draft.changedRows, stored)
      if (draft.isChanged) {
        const changed = draft.changedRows.map(({ id }) => id)
        tabs.post({ type: 'rows', ids: changed, origin, conflicts: draft.conflicts })
      }
      this.#emit(seen, origin, draft)
      if (draft.isChanged && origin === 'local') onEdit()
      return result
    })
  }

  /** Reads rows that another tab has stored, and emits the conflicts that it reported. */
  async reload(ids: readonly string[], origin: Origin, conflicts: readonly Conflict[] = []): Promise<void> {
    const { store, onEdit } = this.#parts
    const read = () => store.read(ids)
    const seen = await this.#withStored(read, ({ meta, rows }) => this.#adopt(rows, meta, ids))
    this.#emit(seen, origin, { conflicts })
    if (origin === 'local') onEdit()
  }

  /**
   * Runs the task while no other one uses the store, unless a tab has unsent edits that must not be discarded.
   *
   * @throws UnsentChangesError the task was not run
   */
  async ifSent(discardUnsent: boolean, task?: () => Promise<void>): Promise<void> {
    await this.#inTurn(async () => {
      if (!discardUnsent) {
        this.#emit(await this.#adoptStored(), 'local')
        if (this.waiting.size > 0) throw new UnsentChangesError(this.waiting.size)
      }
      await task?.()
    })
  }

  /** Deletes everything from the store, which cannot be used any more. Must run while no other task uses the store. */
  async wipe(): Promise<void> {
    this.#refuse()
    await this.#parts.store.wipe()
  }

  async #adoptStored(): Promise<string[]> {
    const stored = await completed(await this.#parts.store.load())
    // If the browser has emptied the store, this copy has its former contents.
    const { meta, rows } = this.#isEmptied(stored.meta) ? { ...(await this.#join(stored)), meta: this.meta } : stored
    return meta ? this.#adoptAll({ meta, rows }) : []
  }

  /** Closes the store, and refuses later tasks and those that wait for their turn. */
  close(): void {
    this.#refuse()
    this.#parts.store.close()
  }

  #refuse(): void {
    this.#closed.abort(new DOMException('The sync was stopped', 'AbortError'))
  }

  /**
   * Makes the store hold the types that the app wants: the next pull includes added types, and rows of other types are
   * removed once they have no pending edits. Happens once in each tab: after that, another tab may want other types.
   */
  async takeTypes(): Promise<void> {
    const types = inOrder(new Set(this.#parts.types))
    const hasThem = () => isEqual(typesIn(this.meta), types)
    this.#hasTypes ||= hasThem()
    if (this.#hasTypes) return
    // Rows of an added type may be left from an earlier time, and were not kept up to date.
    const strays = () => {
      const kept = types.filter((type) => typesIn(this.meta).includes(type))
      return [...this.rows.keys()].filter((key) => !kept.includes(typeOf(key)))
    }
    // `local`, so that the tab that talks to the service pulls the types.
    await this.commit(strays, 'local', (draft) => {
      const { added, cursor } = draft.meta
      const isPulled = (type: EntityType) => typesIn(draft.meta).includes(type) && !added?.types.includes(type)
      const missing = cursor > 0 ? types.filter((type) => !isPulled(type)) : []
      const since = missing.every((type) => added?.types.includes(type)) ? (added?.since ?? 0) : 0
      for (const row of strays().map((key) => draft.get(key))) {
        if (row.waiting.length === 0) draft.set(blankRow(row.id))
        else if (!types.includes(typeOf(row.id))) draft.set(withoutBase(row))
      }
      draft.setMeta({ types, digest: undefined, added: missing.length > 0 ? { types: missing, since } : undefined })
    })
    this.#hasTypes = hasThem()
  }

  /** Clears this copy in memory; the store stays as it is. */
  forget(): void {
    const all = [...Object.values(this), ...Object.values(this.lives)]
    for (const part of all) if (part instanceof Map || part instanceof Set) part.clear()
    this.meta = newMeta(this.#parts.userId)
  }

  /** Runs the task while no other one uses the store. Rejects with an AbortError if its turn comes after the sync was stopped. */
  async #inTurn<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await this.#parts.tabs.exclusively('store', async () => {
        this.#closed.signal.throwIfAborted()
        return task()
      })
    } catch (error) {
      this.faults.add(error as object)
      throw error
    }
  }

  /** Runs the task on what `read` finds in the store, which is filled again first if the browser has emptied it. */
  async #withStored<T>(
    read: () => Promise<Stored>,
    task: (stored: Stored & { meta: Meta }) => T | Promise<T>,
  ): Promise<T> {
    for (;;) {
      const done = await this.#inTurn(async () => {
        const { meta, rows } = await completed(await read())
        if (this.#isEmptied(meta)) return undefined
        this.#wasStored = meta !== undefined
        return { result: await task({ meta: meta ?? newMeta(this.#parts.userId), rows }) }
      })
      if (done) return done.result
      await this.#refill()
    }
  }

  /** Returns the meta as it was stored. If the browser has just emptied the store, the rest of this copy is stored, too. */
  async #write(rows: readonly Row[], meta: Meta, withdrawn = meta.withdrawn ?? {}): Promise<Meta> {
    const { store } = this.#parts
    let stored: Meta = meta.withdrawn ? { ...meta, withdrawn } : meta
    try {
      await store.write(rows, stored)
    } catch (error) {
      if (!(error instanceof StoreEmptiedError)) throw error
      const all = new Map([...this.rows.values(), ...rows].map((row) => [row.id, row]))
      stored = fromStart({ ...meta, withdrawn })
      await store.write([...all.values()], stored)
    }
    this.#wasStored = true
    return stored
  }

  #isEmptied(meta: Meta | undefined): boolean {
    return this.#wasStored && (!meta || meta.generation !== this.meta.generation)
  }

  /**
   * Stores this copy's rows in a store that the browser has emptied. This copy may lack rows that the store had, so the
   * first tab to do so has everything pulled again.
   */
  async #refill(): Promise<void> {
    const { store, tabs, onEdit } = this.#parts
    // If a tab is signing out, it has emptied the store on purpose: waits until it has closed this copy, too.
    await tabs.exclusively('sign-out', async () => {}, this.#closed.signal)
    const report = await this.#inTurn(async () => {
      const { meta, rows } = await completed(await store.load())
      if (!this.#isEmptied(meta)) return undefined
      const joined = await this.#join({ meta, rows })
      const next = await this.#write(joined.changed, meta ?? fromStart(this.meta))
      return { ...joined, seen: await this.#adoptAll({ meta: next, rows: joined.rows }) }
    })
    if (!report) return
    const { seen, changed, conflicts } = report
    tabs.post({ type: 'rows', ids: changed.map(({ id }) => id), origin: 'local', conflicts })
    this.#emit(seen, 'local', { conflicts })
    onEdit()
  }

  /** Joins the stored rows with this copy's, which do not change meanwhile: only this task runs. */
  async #join({ meta, rows: stored }: Stored): Promise<{ rows: Row[]; changed: Row[]; conflicts: Conflict[] }> {
    const rows = new Map(stored.map((row) => [row.id, row]))
    const joined: Joined[] = []
    const join = (own: Row) => joined.push(...rejoinRow(own, rows.get(own.id), meta))
    await paced(this.rows.values(), join, this.#closed.signal)
    for (const { row } of joined) rows.set(row.id, row)
    const conflicts = joined.flatMap(({ conflict }) => conflict ?? [])
    return { rows: [...rows.values()], changed: joined.map(({ row }) => row), conflicts }
  }

  async #adoptAll({ meta, rows }: Stored & { meta: Meta }): Promise<string[]> {
    const { userId } = this.#parts
    if (meta.userId !== userId) throw new Error(`The store is another user's: ${meta.userId}`)
    const changed = await this.#adopt(rows, meta, this.rows.keys())
    // Sorted by timestamps: comparing thousands of event ids, which are strings, would block the page.
    const times = [...this.waiting].map((id) => ({ id, time: this.rows.get(id)?.waiting[0]?.change.timestamp ?? 0 }))
    times.sort((one, other) => one.time - other.time)
    this.waiting.clear()
    for (const { id } of times) this.waiting.add(id)
    return changed
  }

  /**
   * Takes rows and meta into memory, the cursor last. Returns the keys of records that now look different to the user.
   *
   * @param ids the keys that were read; those without a row were removed from the store
   */
  async #adopt(rows: readonly Row[], meta: Meta, ids: Iterable<string> = []): Promise<string[]> {
    const gone = new Set(ids)
    const changed: string[] = []
    const touched: string[] = []
    const adoptRow = (row: Row) => {
      gone.delete(row.id)
      const before = viewOf(this.rows.get(row.id))
      const after = viewOf(row)
      if (isBlank(row)) this.rows.delete(row.id)
      else this.rows.set(row.id, row)
      keep(this.waiting, row.id, row.waiting.length > 0)
      keep(this.quarantined, row.id, isQuarantined(row))
      keep(this.held, row.id, row.held !== null)
      keep(this.unreadable, row.id, !!row.unreadable)
      keep(this.conflicted, row.id, row.conflicts.length > 0)
      // The contents are compared, too, because a version that is only re-encrypted has another hash.
      const isSame = before.data_hash === after.data_hash || isEqual(before.bookmark, after.bookmark)
      if (!isSame || before.timestamp !== after.timestamp) touched.push(row.id)
      if (isSame) return
      const live = this.lives[typeOf(row.id)]
      if (after.bookmark) live.set(idOf(row.id), after.bookmark)
      else live.delete(idOf(row.id))
      changed.push(row.id)
    }
    await paced(rows, adoptRow, this.#closed.signal)
    await paced([...gone].map(blankRow), adoptRow, this.#closed.signal)
    for (const tree of this.#parts.trees) {
      await tree.update(this, keysOfType(touched, tree.type).map(idOf), this.#closed.signal)
    }
    this.meta = meta
    return changed
  }

  #emit(
    seen: string[],
    origin: Origin,
    { conflicts = [], errors = [] }: { conflicts?: readonly Conflict[]; errors?: readonly SyncEvents['error'][] } = {},
  ): void {
    const { emitter, onChange } = this.#parts
    for (const type of entityTypes) {
      const ids = keysOfType(seen, type).map(idOf)
      if (ids.length > 0) emitter.emit(changeOf[type], { ids, origin })
    }
    for (const conflict of conflicts) emitter.emit('conflict', conflict)
    for (const error of errors) emitter.emit('error', error)
    onChange()
  }
}

/** The event that reports a type's changes. */
export const changeOf = { bookmark: 'change', group: 'groups', history: 'history' } as const

function inOrder(types: ReadonlySet<EntityType>): EntityType[] {
  return entityTypes.filter((type) => types.has(type))
}

export function typesIn({ types = ['bookmark'] }: Readonly<Meta>): readonly EntityType[] {
  return types
}

/** The types to pull: those stored, and those of pending edits, which must be merged although their type is not stored. */
export function pulledTypes({ waiting }: Pick<Replica, 'waiting'>, meta: Readonly<Meta>): readonly EntityType[] {
  return inOrder(new Set([...typesIn(meta), ...[...waiting].map(typeOf)]))
}

export function isStored(key: string, meta: Readonly<Meta>): boolean {
  return typesIn(meta).includes(typeOf(key))
}

function keep(set: Set<string>, id: string, isIn: boolean): void {
  if (isIn) set.add(id)
  else set.delete(id)
}

function newMeta(userId: string): Meta {
  return { ...blankMeta(userId), generation: uuidv7() }
}

/** The meta of a store that the browser has emptied: everything is pulled again. */
function fromStart(meta: Readonly<Meta>): Meta {
  return { withdrawn: {}, ...meta, generation: uuidv7(), cursor: 0, isIncomplete: true }
}

/** The changes of one commit, and the conflicts and errors to emit after it. */
export class Draft {
  readonly conflicts: Conflict[] = []
  readonly errors: SyncEvents['error'][] = []
  /** The meta's `withdrawn`, and the pending edits that this commit discards. */
  readonly withdrawn: Record<string, string>
  #meta: Meta
  readonly #rows: Map<string, Row>
  readonly #changed = new Map<string, Row>()
  #metaChanged = false

  constructor(meta: Meta, rows: readonly Row[]) {
    this.#meta = meta
    this.withdrawn = { ...meta.withdrawn }
    this.#rows = new Map(rows.map((row) => [row.id, row]))
  }

  get meta(): Readonly<Meta> {
    return this.#meta
  }

  get isChanged(): boolean {
    return this.#metaChanged || this.#changed.size > 0
  }

  get changedRows(): Row[] {
    return [...this.#changed.values()]
  }

  get(id: string): Row {
    return this.#changed.get(id) ?? this.#rows.get(id) ?? blankRow(id)
  }

  set(row: Row): void {
    const before = this.get(row.id)
    const last = before.waiting.at(-1)
    if (last && row.waiting.length === 0 && row.version === before.version) this.withdrawn[row.id] = last.change.id
    // A row of a type that is not stored is kept only for its pending edits.
    const isKept = row.waiting.length > 0 || isStored(row.id, this.#meta)
    this.#changed.set(row.id, isKept ? withoutEnded(row) : blankRow(row.id))
  }

  /** Adds a conflict to the row, and emits it after the commit. */
  addConflict(row: Row, lost: Omit<Conflict, 'id'>): void {
    const conflict = { ...nameOf(row.id), ...lost }
    this.conflicts.push(conflict)
    this.set(keepConflict(row, conflict))
  }

  setMeta(fields: Partial<Omit<Meta, 'userId'>>): void {
    const names = Object.keys(fields) as (keyof typeof fields)[]
    if (names.every((name) => this.#meta[name] === fields[name])) return
    this.#meta = { ...this.#meta, ...fields }
    this.#metaChanged = true
  }
}
