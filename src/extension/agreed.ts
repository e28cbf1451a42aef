/** The agreed tree is the state in which browser and service were last in step. Stores it, and corrects it after a crash. */
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

/** A bookmark as each side had it after the last comparison. A side that differs from it counts as changed since. */
export interface AgreedRow {
  /** The service's id. */
  id: string
  /** The browser's id. Null if the browser does not have it: it is to be created there, or was refused. */
  browserId: string | null
  /** When the browser created it (Unix ms). Chrome may reuse an id, with another time. Rows from before version 2.1 lack it. */
  dateAdded?: number | undefined
  /** Set if the extension created it in the browser, and not the user. */
  isOwn?: true | undefined
  kind: Kind
  /** The key of the folder around it: the folder's id, or the `rootKey` of one of the browser's own folders. */
  parent: string
  /** Title and address as the service has them; as the browser has them if the service refused the bookmark. */
  content: Content
  /** Title and address as the browser has them, if they differ: it rewrites some, and a side may refuse a change. */
  shown?: Content | undefined
  /**
   * A step that a worker has announced. If the worker dies before it ends, the next worker finds out whether the step
   * was taken.
   * - `adding`: to the service
   * - `creating`: in the browser, since this time (Unix ms, the browser's clock) and after the entry with this id, or at
   *   the start of its folder
   */
  step?: { kind: 'adding' } | { kind: 'creating'; since: number; behind: string | undefined } | undefined
  /** Why one side refused the other's version. It is tried again when title or address change on either side. */
  refused?: { by: 'browser' | 'service'; message: string } | undefined
  /** A folder that this device leaves out. */
  leftOut?: true | undefined
  /** Only in the store, on the row that keeps the state before a change: the bookmark did not exist. */
  isNone?: true | undefined
  /** Only in the store, in separate rows. */
  removal?: Removal | undefined
}

/** A bookmark's delete: not passed on yet, waiting for the user's answer, answered, or passed on recently. */
export interface Removal {
  bookmark: Readonly<PlaintextBookmark>
  /** When it was found, asked about or passed on (Unix ms, the browser's clock). */
  time: number
  isApproved: boolean
  /** It was passed on to other devices, or came from one. */
  isPassed: boolean
  /** It is passed on after a few seconds, unless the user undoes it, pastes the bookmark, or must be asked after all. */
  isResting?: true | undefined
}

/** The last agreed tree. As loaded, it also has previous states, removals and the browser's own folders, with prefixed names. */
export interface Agreed {
  rows: Map<string, AgreedRow>
  /** The ids of what both sides have in a folder, in order, by the folder's key. */
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
  /** Deletes everything in this store. */
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

/** A crash of the browser can undo changes that are younger than this (ms). Chrome saves every 2.5 s; the rest is margin. */
export const settlingMs = 10_000

/**
 * The agreed tree in memory, and its changes that are not stored yet.
 *
 * After a crash, the browser may have lost recent changes that only the service still has. That must not look as if the
 * user had undone them. So the previous rows are kept, and apply after a restart where the browser has lost a change.
 */
export class AgreedDraft {
  readonly #roots: Map<Role, string>
  readonly #rows: Settling<AgreedRow>
  readonly #orders: Settling<readonly string[]>
  #periodStart = 0

  /** @param restart set after a restart of the browser or the extension: the browser may have lost what is not settled */
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
   * Stores which of the browser's own folders are kept in step. If one of them was replaced and all its contents are
   * gone, because Chrome's user has signed out of an account, these contents count as not deleted.
   */
  async followRoots(store: AgreedStore, { roots, entries }: BrowserTree): Promise<void> {
    const changed = new Map<string, AgreedRow>()
    for (const [role, { browserId }] of roots) {
      const before = this.#roots.get(role)
      if (before === browserId) continue
      const inside = before === undefined ? [] : this.#inside(rootKey(role))
      const isGone = inside.every((row) => !entries.has(row.browserId ?? ''))
      if (isGone) await this.announce(store, new Map(inside.map(({ id }) => [id, null])))
      this.#roots.set(role, browserId)
      const id = rootPrefix + role
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

  /** Stores rows that apply even after a crash, such as steps about to be taken and decisions of the user. */
  async announce(store: AgreedStore, rows: ReadonlyMap<string, AgreedRow | null>): Promise<void> {
    await write(store, withoutBefore(rows))
    this.#rows.announce(rows)
  }

  /** Marks changes as settled that a crash can no longer undo. */
  async settle(store: AgreedStore, now: number): Promise<void> {
    if (Math.abs(now - this.#periodStart) < settlingMs) return
    this.#periodStart = now
    await write(store, this.#rows.startPeriod(), this.#orders.startPeriod())
  }

  /** Marks the whole tree as settled, so that it applies even after a crash. */
  async settleAll(store: AgreedStore): Promise<void> {
    this.#rows.startPeriod()
    this.#orders.startPeriod()
    await write(store, this.#rows.startPeriod(), this.#orders.startPeriod())
  }
}

/** Prefix of the name under which one of the browser's own folders is stored. The role follows. */
const rootPrefix = '\x03'

/** Removes the browser's own folders from the loaded rows, not from the store, and returns their ids. */
export function takeRoots({ rows }: Pick<Agreed, 'rows'>): Roots {
  const roots = new Map<Role, string>()
  for (const [name, { browserId }] of [...rows]) {
    if (!name.startsWith(rootPrefix)) continue
    rows.delete(name)
    roots.set(name.slice(rootPrefix.length) as Role, browserId ?? '')
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

/** Prefix of the stored name of a value's previous state, which is kept while a crash could bring it back. */
const beforePrefix = '\x01'

/**
 * Values by name. The previous value of each is kept until a crash of the browser can no longer bring it back. It is
 * stored under a prefixed name, in the form that `write` gives it; null means that there was none. Time is divided into
 * periods of at least `settlingMs`: a change is settled after it was left alone for one whole period.
 */
class Settling<Value> {
  readonly values: Map<string, Value>
  readonly #write: (name: string, before: Value | null) => Value
  readonly #before = new Map<string, Value | null>()
  /** Names of values that are not stored yet. */
  #changed = new Set<string>()
  /** Names of values that were last changed in the current period, and in the one before. */
  #fresh = new Set<string>()
  #settling = new Set<string>()

  /** @param recall called after a restart of the browser: decides which of the two values applies */
  constructor(
    stored: Map<string, Value>,
    read: (before: Value, name: string) => Value | null,
    write: (name: string, before: Value | null) => Value,
    recall?: (name: string, after: Value | null, before: Value | null) => Value | null,
  ) {
    this.values = stored
    this.#write = write
    for (const [marked, value] of [...stored]) {
      if (!marked.startsWith(beforePrefix)) continue
      const name = marked.slice(beforePrefix.length)
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

  /** Returns the rows to store for the changed values and their previous ones. */
  takeChanged(): Map<string, Value | null> {
    const taken = new Map<string, Value | null>()
    for (const name of this.#changed) {
      taken.set(name, this.values.get(name) ?? null)
      taken.set(beforePrefix + name, this.#write(beforePrefix + name, this.#before.get(name) ?? null))
    }
    this.#changed = new Set()
    return taken
  }

  /** Sets values without keeping the previous ones, so that a crash does not bring these back. */
  announce(values: ReadonlyMap<string, Value | null>): void {
    for (const [name, value] of values) this.#put(name, value)
    this.#settle(values.keys())
  }

  /** Returns the rows to store for values that are settled now: they were not changed in the period that ends. */
  startPeriod(): Map<string, Value | null> {
    const settled = this.#settling
    this.#settling = this.#fresh
    this.#fresh = new Set()
    return this.#settle(settled)
  }

  #settle(names: Iterable<string>): Map<string, Value | null> {
    const taken = new Map<string, Value | null>()
    for (const name of names) {
      taken.set(name, this.values.get(name) ?? null)
      if (this.#before.delete(name)) taken.set(beforePrefix + name, null)
      for (const set of [this.#changed, this.#fresh, this.#settling]) set.delete(name)
    }
    return taken
  }

  #put(name: string, value: Value | null): void {
    if (value === null) this.values.delete(name)
    else this.values.set(name, value)
  }
}

/** Returns the rows to store for values without a previous one. */
function withoutBefore<Value>(values: ReadonlyMap<string, Value | null>): Map<string, Value | null> {
  return new Map([...values, ...[...values.keys()].map((name) => [beforePrefix + name, null] as const)])
}

/**
 * Decides after a restart, for each row and order that is not settled, whether the last state applies or the one before. After
 * a crash, the browser may lack recent changes, which must not look as if its user had undone them. After a normal exit, it
 * lacks none: if the state before applied then, changes made elsewhere would look like changes on both sides.
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
    // A bookmark that was deleted everywhere is not in the browser, unless the browser lost that delete.
    if (!after) return before?.browserId && !entry ? null : before
    const wasThere = before && !before.step && before.browserId === after.browserId
    // After a crash, Chrome may give a new bookmark the id of a lost one.
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
   * Returns the ids of all missing bookmarks if the newest one is among them: somebody may have put back an older bookmarks
   * file. Otherwise returns none: the user has probably deleted the missing ones.
   * @param rows as `row` has decided: those of bookmarks that a crash may have lost have no `browserId`
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
