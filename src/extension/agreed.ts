/** The agreed tree: its form, its store, what of it could still be lost, and what a restart of the browser makes of that. */
import type { PlaintextBookmark } from '../client/bookmark.ts'
import type { Role } from '../client/bookmark-file/marks.ts'
import { Database, endOf, resultOf } from '../client/database.ts'
import { StorageFullError } from '../client/errors.ts'
import {
  type BrowserEntry,
  type BrowserTree,
  type Content,
  isSameContent,
  type Kind,
  type Roots,
  rootKey,
} from './trees.ts'

/**
 * A bookmark as the browser and the service agreed on it when they were last compared. Both are compared with it: what
 * differs was changed since.
 */
export interface AgreedRow {
  /** The service's id. */
  id: string
  /** The browser's id; null if it has none, because it is being made or was refused. */
  browserId: string | null
  /** When the browser made it (Unix ms): no two have the same id and time. Only what releases before 2.1 have stored lacks it. */
  dateAdded?: number | undefined
  /** The extension has made it there, not its user. */
  isOwn?: true | undefined
  kind: Kind
  /** The key of the folder around it. */
  parent: string
  /** As the service has it. */
  content: Content
  /** As the browser has it, if it has another form of it. */
  shown?: Content | undefined
  /**
   * A step that a worker has announced. If it does not live to see the end of it, the next one finds out whether the step
   * was taken. `adding`: to the service; `creating`: in the browser, since this time (Unix ms, the browser's clock) and
   * behind this id, or at the start of its folder
   */
  step?: { kind: 'adding' } | { kind: 'creating'; since: number; behind: string | undefined } | undefined
  /** Why one side did not take what the other has. It is not tried again until that changes. */
  refused?: { by: 'browser' | 'service'; message: string } | undefined
  /** A folder that this device leaves out. */
  leftOut?: true | undefined
  /** In the store only, of the row before: there was none. */
  isNone?: true | undefined
  /** In the store only, and only in rows of its own. */
  removal?: Removal | undefined
}

/** A delete in the browser that rests, waits for the user's answer, has it, or was passed on a short time ago. */
export interface Removal {
  bookmark: Readonly<PlaintextBookmark>
  /** When it was found, when the user was asked, or when it was passed on (Unix ms, the browser's clock). */
  time: number
  isApproved: boolean
  /** Also true of another device's delete that was applied here. */
  isPassed: boolean
  /** It is passed on by itself a few seconds later. */
  isResting?: true | undefined
}

/** The last agreed tree. */
export interface Agreed {
  rows: Map<string, AgreedRow>
  /** The ids of what both have in a folder, in order, by the folder's key. */
  orders: Map<string, readonly string[]>
}

/** A change of the agreed tree; null removes a row or an order. */
export interface AgreedChange {
  rows: ReadonlyMap<string, AgreedRow | null>
  orders: ReadonlyMap<string, readonly string[] | null>
}

/** Keeps the agreed tree on this device. */
export interface AgreedStore {
  load(): Promise<Agreed>
  /** Writes all or nothing; resolves once it would survive a crash. */
  write(change: AgreedChange): Promise<void>
  /** Deletes everything. */
  wipe(): Promise<void>
}

/**
 * Keeps the agreed tree in the extension's IndexedDB, in plaintext; `wipe` removes it.
 *
 * @param userId the service's `user_id`
 */
export function indexedDbAgreedStore(userId: string): AgreedStore {
  const database = new Database(`encrypted-bookmark-sync-browser-${userId}`, {
    async upgrade(created) {
      created.createObjectStore('rows')
      created.createObjectStore('orders')
    },
  })
  return {
    load: () =>
      database.use(async (connection) => {
        const transaction = connection.transaction(['rows', 'orders'])
        const orders = transaction.objectStore('orders')
        const [rows, keys, lists] = await Promise.all([
          resultOf<AgreedRow[]>(transaction.objectStore('rows').getAll()),
          resultOf(orders.getAllKeys()),
          resultOf<string[][]>(orders.getAll()),
        ])
        return {
          rows: new Map(rows.map((row) => [row.id, row])),
          orders: new Map(keys.map((key, index) => [key as string, lists[index] as string[]])),
        }
      }),
    write: (change) =>
      database.use(async (connection) => {
        const transaction = connection.transaction(['rows', 'orders'], 'readwrite', { durability: 'strict' })
        for (const [name, values] of Object.entries(change)) {
          const store = transaction.objectStore(name)
          for (const [key, value] of values) {
            if (value === null) store.delete(key)
            else store.put(value, key)
          }
        }
        await endOf(transaction).catch((cause) => {
          throw cause?.name === 'QuotaExceededError' ? new StorageFullError({ cause }) : cause
        })
      }),
    wipe: () => database.delete(),
  }
}

/** A browser loses in a crash what it has not written down. Chrome does that every 2.5 s. */
export const settlingMs = 10_000

/**
 * The agreed tree in memory, and what of it is not stored yet. What was agreed on shortly before a crash of the browser, only
 * the service has afterwards, and it must not look as if the user had undone it: so what was agreed on before is kept, too,
 * and the next worker goes back to that where the browser has.
 */
export class AgreedDraft {
  readonly #roots: Map<Role, string>
  readonly #rows: Settling<AgreedRow>
  readonly #orders: Settling<readonly string[]>
  #turned = 0

  /** @param restart if the browser was closed since: it may have lost what is not settled */
  constructor({ rows, orders }: Agreed, roots: Roots, restart?: Restart) {
    this.#roots = new Map(roots)
    const readRow = ({ isNone, ...row }: AgreedRow, id: string) => (isNone ? null : { ...row, id })
    const writeRow = (id: string, row: AgreedRow | null) => ({ ...(row ?? { isNone: true }), id }) as AgreedRow
    this.#rows = new Settling(rows, readRow, writeRow, restart?.row.bind(restart))
    this.#orders = new Settling(
      orders,
      (order) => (order.length > 0 ? order : null),
      (_key, order) => order ?? [],
      restart?.order.bind(restart),
    )
  }

  get rows(): ReadonlyMap<string, AgreedRow> {
    return this.#rows.values
  }

  get orders(): ReadonlyMap<string, readonly string[]> {
    return this.#orders.values
  }

  get roots(): Roots {
    return this.#roots
  }

  get isSettled(): boolean {
    return this.#rows.isSettled && this.#orders.isSettled
  }

  set(row: AgreedRow): void {
    this.#rows.set(row.id, row)
  }

  drop(id: string): void {
    if (this.rows.has(id)) this.#rows.set(id, null)
  }

  /**
   * Stores which of the browser's own folders are kept in step. If another one took the place of one that is gone with all its
   * contents, because Chrome's user has signed out of an account, then nobody deleted these.
   */
  async follow(store: AgreedStore, { roots, entries }: BrowserTree): Promise<void> {
    const changed = new Map<string, AgreedRow>()
    for (const [role, { browserId }] of roots) {
      const before = this.#roots.get(role)
      if (before === browserId) continue
      const inside = before === undefined ? [] : this.#inside(rootKey(role))
      const isGone = inside.every((row) => !entries.has(row.browserId ?? ''))
      if (isGone) await this.announce(store, new Map(inside.map(({ id }) => [id, null])))
      this.#roots.set(role, browserId)
      const id = rootMark + role
      changed.set(id, { id, browserId, kind: 'folder', parent: '', content: { title: '' } })
    }
    await write(store, changed)
  }

  #inside(folder: string): AgreedRow[] {
    const inside = Map.groupBy(this.rows.values(), ({ parent }) => parent)
    const found = [...(inside.get(folder) ?? [])]
    for (const { id } of found) found.push(...(inside.get(id) ?? []))
    return found
  }

  setOrder(key: string, ids: readonly string[]): void {
    const known = this.orders.get(key) ?? []
    if (known.length === ids.length && known.every((id, index) => id === ids[index])) return
    this.#orders.set(key, ids.length === 0 ? null : ids)
  }

  /** Stores what has changed. */
  async flush(store: AgreedStore): Promise<void> {
    await write(store, this.#rows.takeChanged(), this.#orders.takeChanged())
  }

  /** Stores rows that hold even after a crash: what is about to be done, and what the user has decided. */
  async announce(store: AgreedStore, rows: ReadonlyMap<string, AgreedRow | null>): Promise<void> {
    await write(store, withoutBefore(rows))
    this.#rows.announce(rows)
  }

  /** Stores what the browser has written down by now. */
  async settle(store: AgreedStore, now: number): Promise<void> {
    if (Math.abs(now - this.#turned) < settlingMs) return
    this.#turned = now
    await write(store, this.#rows.turn(), this.#orders.turn())
  }

  /** From now on, the tree as it is holds even after a crash. */
  async settleAll(store: AgreedStore): Promise<void> {
    this.#rows.turn()
    this.#orders.turn()
    await write(store, this.#rows.turn(), this.#orders.turn())
  }
}

/** Stands before the role of one of the browser's own folders, where the store has its id. */
const rootMark = '\x03'

/** Takes the ids of the browser's own folders out of what is stored. */
export function takeRoots({ rows }: Pick<Agreed, 'rows'>): Roots {
  const roots = new Map<Role, string>()
  for (const [name, { browserId }] of [...rows]) {
    if (!name.startsWith(rootMark)) continue
    rows.delete(name)
    roots.set(name.slice(rootMark.length) as Role, browserId ?? '')
  }
  return roots
}

async function write(
  store: AgreedStore,
  rows: ReadonlyMap<string, AgreedRow | null>,
  orders: ReadonlyMap<string, readonly string[] | null> = new Map(),
): Promise<void> {
  if (rows.size + orders.size > 0) await store.write({ rows, orders })
}

/** Stands before the name of a value that is not settled, for the one before. */
const mark = '\x01'

/**
 * Values by name, of which those before are kept until no crash of the browser can undo what has changed. The one before is
 * stored under a name of its own, as what `write` makes of that and of the value; null: there was none.
 */
class Settling<Value> {
  readonly values: Map<string, Value>
  readonly #write: (name: string, before: Value | null) => Value
  readonly #before = new Map<string, Value | null>()
  /** Names of values that are not stored. */
  #changed = new Set<string>()
  /** Names of values that have changed since the last turn, and between that and the turn before. */
  #fresh = new Set<string>()
  #settling = new Set<string>()

  /** @param recall after a restart of the browser: which of the two holds, of what is not settled */
  constructor(
    stored: Map<string, Value>,
    read: (before: Value, name: string) => Value | null,
    write: (name: string, before: Value | null) => Value,
    recall?: (name: string, after: Value | null, before: Value | null) => Value | null,
  ) {
    this.values = stored
    this.#write = write
    for (const [marked, value] of [...stored]) {
      if (!marked.startsWith(mark)) continue
      const name = marked.slice(mark.length)
      const before = read(value, name)
      stored.delete(marked)
      this.#before.set(name, before)
      this.#fresh.add(name)
      if (recall) this.#put(name, recall(name, stored.get(name) ?? null, before))
    }
  }

  get isSettled(): boolean {
    return this.#fresh.size + this.#settling.size === 0
  }

  set(name: string, value: Value | null): void {
    if (!this.#before.has(name)) this.#before.set(name, this.values.get(name) ?? null)
    this.#put(name, value)
    this.#changed.add(name)
    this.#fresh.add(name)
    this.#settling.delete(name)
  }

  /** Returns what is to be stored of the changed values. */
  takeChanged(): Map<string, Value | null> {
    const taken = new Map<string, Value | null>()
    for (const name of this.#changed) {
      taken.set(name, this.values.get(name) ?? null)
      taken.set(mark + name, this.#write(mark + name, this.#before.get(name) ?? null))
    }
    this.#changed = new Set()
    return taken
  }

  /** Sets what is stored as it is, without one before: it holds even after a crash. */
  announce(values: ReadonlyMap<string, Value | null>): void {
    for (const [name, value] of values) this.#put(name, value)
    this.#settle(values.keys())
  }

  /** Returns what is to be stored of what has not changed since the turn before the last one. */
  turn(): Map<string, Value | null> {
    const settled = this.#settling
    this.#settling = this.#fresh
    this.#fresh = new Set()
    return this.#settle(settled)
  }

  #settle(names: Iterable<string>): Map<string, Value | null> {
    const taken = new Map<string, Value | null>()
    for (const name of names) {
      taken.set(name, this.values.get(name) ?? null)
      if (this.#before.delete(name)) taken.set(mark + name, null)
      for (const set of [this.#changed, this.#fresh, this.#settling]) set.delete(name)
    }
    return taken
  }

  #put(name: string, value: Value | null): void {
    if (value === null) this.values.delete(name)
    else this.values.set(name, value)
  }
}

/** Returns what is to be stored of values that hold even after a crash. */
function withoutBefore<Value>(values: ReadonlyMap<string, Value | null>): Map<string, Value | null> {
  return new Map([...values, ...[...values.keys()].map((name) => [mark + name, null] as const)])
}

/**
 * The tree that was agreed on when the browser was last closed. If it has crashed, it may have lost what it had not written down, and
 * that must not look as if its user had undone it; if not, what was changed elsewhere since must not look like a change on
 * both sides. What the browser shows tells which it was, for each row and order by itself.
 */
export class Restart {
  readonly #browser: BrowserTree
  readonly #rows: ReadonlyMap<string, AgreedRow>
  readonly #roots: ReadonlyMap<string, string>

  constructor(browser: BrowserTree, rows: ReadonlyMap<string, AgreedRow>) {
    this.#browser = browser
    this.#rows = rows
    this.#roots = new Map([...browser.roots].map(([role, { browserId }]) => [rootKey(role), browserId]))
  }

  row(_id: string, after: AgreedRow | null, before: AgreedRow | null): AgreedRow | null {
    const entry = this.#browser.entries.get((after ?? before)?.browserId ?? '')
    // A bookmark that was deleted everywhere is not in the browser either, unless that has lost the delete.
    if (!after) return before?.browserId && !entry ? null : before
    const wasThere = before && !before.step && before.browserId === after.browserId
    // After a crash, Chrome gives the ids once more.
    const isThere = entry?.dateAdded !== undefined && entry.dateAdded === after.dateAdded
    if (!wasThere && !isThere) {
      return before && this.#browser.entries.has(before.browserId ?? '')
        ? before
        : { ...(before ?? after), browserId: null }
    }
    if (!entry || !before) return after
    const isLost = isSameContent(entry, shownOf(before)) && !isSameContent(entry, shownOf(after))
    const isBack = this.#isIn(before, entry) && !this.#isIn(after, entry)
    const { content, shown, refused } = isLost ? before : after
    return { ...after, content, shown, refused, parent: (isBack ? before : after).parent }
  }

  /**
   * Ids of all that is not there, if the newest is not: then somebody may have put back an older file of bookmarks. None
   * otherwise, because then their user has deleted them.
   *
   * @param rows of which what a crash may have lost is no longer expected to be there
   */
  missing(rows: ReadonlyMap<string, AgreedRow>): string[] {
    let newest: AgreedRow | undefined
    const missing: string[] = []
    for (const row of rows.values()) {
      if (row.browserId === null || row.leftOut) continue
      if (!this.#browser.entries.has(row.browserId)) missing.push(row.id)
      if ((row.dateAdded ?? 0) > (newest?.dateAdded ?? 0)) newest = row
    }
    return newest && missing.includes(newest.id) ? missing : []
  }

  order(key: string, after: readonly string[] | null, before: readonly string[] | null): readonly string[] | null {
    return !this.#isShown(key, after ?? []) && this.#isShown(key, before ?? []) ? before : after
  }

  #isIn({ parent }: AgreedRow, entry: BrowserEntry): boolean {
    return entry.parent === this.#folderOf(parent)
  }

  #isShown(key: string, order: readonly string[]): boolean {
    const own = order.map((id) => this.#rows.get(id)?.browserId)
    const known = new Set(own)
    const shown = this.#browser.lists.get(this.#folderOf(key) ?? '')?.filter((browserId) => known.has(browserId)) ?? []
    return shown.length === own.length && own.every((browserId, index) => browserId === shown[index])
  }

  #folderOf(key: string): string | undefined {
    return this.#roots.get(key) ?? this.#rows.get(key)?.browserId ?? undefined
  }
}

function shownOf({ content, shown = content }: AgreedRow) {
  return shown
}
