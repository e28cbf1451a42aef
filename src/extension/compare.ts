import type { PlaintextBookmark } from '../client/bookmark.ts'
import type { Likeness } from '../client/crypto/derived-id.ts'
import { RecordError } from '../client/errors.ts'
import type { SyncProgress } from '../client/sync/store/emitter.ts'
import type { Sync } from '../client/sync/sync.ts'
import type { Clock } from '../client/timing/clock.ts'
import type { AgreedDraft, AgreedRow, AgreedStore } from './agreed.ts'
import type { BrowserNode } from './browser-api.ts'
import type { BookmarkWatch, BrowserMirror } from './browser-mirror.ts'
import { type FoundCopy, findCopies } from './copies.ts'
import { type Merged, type MergedEntry, mergeTrees } from './merge.ts'
import { isOfRow } from './pair.ts'
import type { RemovalGuard } from './removal-guard.ts'
import { changeBrowser, type Shown } from './to-browser.ts'
import { planService, type ServiceChange, type ServicePlan } from './to-service.ts'
import {
  type BrowserEntry,
  type Content,
  contentOf,
  isSameContent,
  kindOfNode,
  readBrowserTree,
  readServiceTree,
  rootKey,
} from './trees.ts'

interface ComparisonParts {
  sync: Pick<Sync, 'deviceId' | 'get' | 'tree' | 'status' | 'put' | 'update' | 'remove' | 'restoreExport'>
  deriveId?: ((likeness: Likeness) => string) | undefined
  mirror: BrowserMirror
  store: AgreedStore
  watch: Pick<BookmarkWatch, 'created' | 'touched' | 'removed'>
  clock: Clock
  guard: RemovalGuard
  /** Called with the number of entries to add on both sides, and how many of them are done. */
  report: (progress: SyncProgress) => void
}

/** A bookmark that one side refused. */
export interface Refused {
  /** The service's id. */
  id: string
  title: string
  by: 'browser' | 'service'
  /** The message of the browser's error, or of the client's RecordError for the service. */
  message: string
}

/** Entries added in one step, as many as one push takes. */
const addedAtOnce = 500

/**
 * Compares both sides with what they last agreed on, and changes both. The worker may die after any step; the next
 * comparison continues from there.
 *
 * @returns whether something was changed meanwhile, so that another comparison is needed, and what could not be moved
 * or removed. The first comparison may instead return bookmarks that look like copies; then neither side was changed.
 */
export async function compareSides(
  parts: ComparisonParts,
  agreed: AgreedDraft,
): Promise<{ isStale: boolean; failures: Refused[]; copies: FoundCopy[] }> {
  const { sync, mirror, store, guard, watch, clock, deriveId } = parts
  noteRemoved(agreed, watch)
  const leftOut = [...agreed.rows.values()].filter((row) => row.leftOut)
  const isOut = new Set(leftOut.map((row) => row.browserId ?? ''))
  const browser = await readBrowserTree(await mirror.read(), isOut, agreed.roots)
  const rootsOut = [...browser.roots].filter(([, { browserId }]) => isOut.has(browserId))
  const shown = {
    roles: browser.roots,
    hasSeparators: browser.isFirefox,
    leftOut: new Set([...leftOut.map(({ id }) => id), ...rootsOut.map(([role]) => rootKey(role))]),
  }
  // A sign-out may empty the sync during a comparison. That must not look as if all bookmarks had been deleted.
  if (sync.status().lastSync === 0) throw new DOMException('The sync was signed out', 'AbortError')
  await agreed.followRoots(store, browser)
  const service = await readServiceTree(sync.tree(), shown)
  const deleted = guard.deletedLately((id) => sync.get(id) !== undefined)
  const isTaken = (id: string) => sync.get(id) !== undefined || agreed.rows.has(id)
  const isFirst = agreed.orders.size === 0
  const ids = deriveId && isFirst ? { derive: deriveId, isTaken } : undefined
  const trees = { agreed, browser, service, watch, deleted, now: clock.now(), ids }
  const merged = await mergeTrees(trees, guard)
  const copies = isFirst ? await findCopies(trees, merged.pairing) : []
  if (copies.length > 0) return { isStale: false, failures: [], copies }
  await guard.save(store)
  const step = new Comparison(parts, agreed, merged, trees.ids !== undefined)
  await step.forget(merged.forgotten)
  const plan = await planService(merged, trees, sync.deviceId)
  const created = [...merged.entries.values()].filter((entry) => !entry.browser)
  step.total = plan.added.length + created.length
  await step.changeService(plan)
  await changeBrowser(mirror.changes, merged, browser, step, guard.restMs > 0)
  for (const key of [...agreed.orders.keys()]) if (!merged.orders.has(key)) agreed.setOrder(key, [])
  await agreed.flush(store)
  await guard.save(store)
  guard.known = service.entries
  return step
}

/** Finds out whether the user has removed entries that a dead worker was adding. The removal may have started this worker. */
function noteRemoved(agreed: AgreedDraft, { created, touched, removed }: ComparisonParts['watch']): void {
  const interrupted = [...agreed.rows.values()].filter(({ step }) => step)
  if (interrupted.length === 0) {
    created.clear()
    touched.clear()
    removed.length = 0
    return
  }
  const known = new Set([...agreed.rows.values()].map(({ browserId }) => browserId))
  const gone = new Set<string>()
  for (const row of interrupted) {
    // Firefox does not report when a removed bookmark was created.
    const since = row.step?.kind === 'creating' ? row.step.since : 0
    const isIt = (node: BrowserNode) =>
      !created.has(node.id) &&
      (node.dateAdded ?? since) >= since &&
      (row.browserId === null
        ? !known.has(node.id) && isOfRow(row, { ...node, kind: kindOfNode(node) }, touched.has(node.id))
        : node.id === row.browserId && (node.dateAdded ?? row.dateAdded) === row.dateAdded)
    const found = removed.find(isIt)
    // The browser reports only the removed folder, not its contents. An entry that was not created yet was not in it.
    const browserId = found?.id ?? (gone.has(row.parent) ? row.browserId : null)
    if (browserId === null) continue
    gone.add(row.id)
    agreed.set({ ...row, browserId, step: undefined })
  }
}

class Comparison {
  isStale = false
  /** The number of entries to add, on both sides. */
  total = 0
  #done = 0
  readonly failures: Refused[] = []
  readonly copies: FoundCopy[] = []
  readonly #parts: ComparisonParts
  readonly #agreed: AgreedDraft
  readonly #merged: Merged
  readonly #isFirst: boolean
  /** Ids of entries whose change was not applied: the service refused it, or the bookmark was deleted there meanwhile. */
  readonly #unapplied = new Set<string>()

  constructor(parts: ComparisonParts, agreed: AgreedDraft, merged: Merged, isFirst: boolean) {
    this.#isFirst = isFirst
    this.#parts = parts
    this.#agreed = agreed
    this.#merged = merged
  }

  async changeService({ added, changed, removed }: ServicePlan): Promise<void> {
    const { sync, store, guard } = this.#parts
    for (let start = 0; start < added.length; start += addedAtOnce) {
      await this.#add(added.slice(start, start + addedAtOnce))
    }
    for (const change of changed) await this.#change(change)
    const leaving = new Map(this.#merged.leavingService.map((entry) => [entry.id, entry.bookmark]))
    const isAsRead = (id: string) => !leaving.has(id) || sync.get(id) === leaving.get(id)
    const known = removed.filter(isAsRead).flatMap((id) => sync.get(id) ?? [])
    if (!removed.every(isAsRead)) this.stale()
    if (known.length > 0) await sync.remove(known.map(({ id }) => id))
    guard.passed(known.filter(({ id }) => !this.#merged.replaced.has(id)))
    await guard.save(store)
    await this.forget(removed.filter((id) => !sync.get(id)))
    if (known.length > 0) await this.#agreed.flush(store)
  }

  /**
   * Forgets entries that were removed. If the browser still has one, for example in a folder that is left out, it counts as
   * a new bookmark once that folder is included again, even after a crash.
   */
  async forget(ids: readonly string[]): Promise<void> {
    const { mirror, store } = this.#parts
    const isThere = (id: string) => mirror.has(this.#agreed.rows.get(id)?.browserId)
    await this.#agreed.announce(store, new Map(ids.filter(isThere).map((id) => [id, null])))
    for (const id of ids) this.#agreed.drop(id)
  }

  async #add(added: readonly PlaintextBookmark[]): Promise<void> {
    const { sync, store } = this.#parts
    const entries = added.flatMap(({ id }) => this.#merged.entries.get(id) ?? [])
    const step = { kind: 'adding' } as const
    await this.#agreed.announce(store, new Map(entries.map((entry) => [entry.id, { ...toRow(entry), step }])))
    try {
      // `restoreExport` keeps a bookmark that another browser has added meanwhile under the same id, without a conflict.
      const { failed = [] } =
        (await (this.#isFirst ? sync.restoreExport({ bookmarks: [...added] }) : sync.put(added))) ?? {}
      if (failed[0]) throw failed[0].error
    } catch (error) {
      if (!(error instanceof RecordError)) throw error
      for (const bookmark of added) await this.#addAlone(bookmark)
    }
    for (const entry of entries) if (!this.#unapplied.has(entry.id)) this.#agreed.set(toRow(entry))
    await this.#agreed.flush(store)
    this.#advance(added.length)
  }

  #advance(count: number): void {
    this.#done += count
    this.#parts.report({ done: this.#done, total: this.total })
  }

  async #addAlone(bookmark: PlaintextBookmark): Promise<void> {
    try {
      await this.#parts.sync.put(bookmark)
    } catch (error) {
      if (!(error instanceof RecordError)) throw error
      const entry = this.#merged.entries.get(bookmark.id)
      if (entry) this.#refuseByService(entry, error)
    }
  }

  async #change({ id, patch, seen }: ServiceChange): Promise<void> {
    const entry = this.#merged.entries.get(id)
    try {
      await this.#parts.sync.update(id, patch, { seen })
    } catch (error) {
      this.#unapplied.add(id)
      if (error instanceof RangeError) this.stale()
      else if (error instanceof RecordError && entry) this.#refuseByService(entry, error)
      else throw error
    }
  }

  /** Each side keeps its content. The change is tried again when one of them changes. */
  #refuseByService(entry: MergedEntry, error: RecordError): void {
    this.#unapplied.add(entry.id)
    const shown = contentOf(entry.browser as Content)
    const content = entry.service ? contentOf(entry.service) : shown
    this.#agreed.set({ ...toRow(entry), content, shown, refused: { by: 'service', message: error.message } })
  }

  async announce(entries: readonly MergedEntry[]): Promise<void> {
    const { clock, store } = this.#parts
    const since = clock.now()
    const rowOf = (entry: MergedEntry): [string, AgreedRow] => {
      const order = this.#merged.orders.get(entry.parent) ?? []
      const behind = order[order.indexOf(entry.id) - 1]
      return [entry.id, { ...toRow(entry), browserId: null, step: { kind: 'creating', since, behind } }]
    }
    await this.#agreed.announce(store, new Map(entries.map(rowOf)))
    this.#advance(entries.length)
  }

  done(entry: MergedEntry, browserId: string, { dateAdded, ...shown }: Shown): void {
    if (this.#unapplied.has(entry.id)) return
    const form = isSameContent(shown, entry.forService) ? {} : { shown: contentOf(shown) }
    const row: AgreedRow = { ...toRow(entry), browserId, dateAdded, ...form }
    const before = this.#agreed.rows.get(entry.id)
    // An unchanged row is not set again, because `row` would erase a refusal of either side, which stays until a change.
    if (!before || !isSameRow(before, row)) this.#agreed.set(row)
  }

  ordered(key: string, order: readonly string[], placed: ReadonlySet<string>): void {
    const { rows } = this.#agreed
    const isRefused = (id: string) => rows.get(id)?.refused?.by === 'browser' && rows.get(id)?.browserId === null
    const isSettled = order.every((id) => (placed.has(id) ? rows.get(id)?.parent === key : isRefused(id)))
    if (!this.isStale && isSettled) {
      this.#agreed.setOrder(
        key,
        order.filter((id) => placed.has(id)),
      )
    }
  }

  removed({ browserId }: { browserId: string }): void {
    const id = this.#merged.pairing.idOf.get(browserId) as string
    this.#agreed.drop(id)
    this.#parts.guard.deletedElsewhere(id)
  }

  /** A browser may refuse what another one accepts, such as an address. */
  refused(entry: MergedEntry, shown: Content | null, error: unknown): void {
    const refused = { by: 'browser' as const, message: messageOf(error) }
    const form = shown ? { shown: contentOf(shown) } : { browserId: null }
    this.#agreed.set({ ...toRow(entry), ...form, refused })
  }

  /** The next comparison tries again. */
  failed({ browserId, title }: BrowserEntry, error: unknown): void {
    const id = this.#merged.pairing.idOf.get(browserId) as string
    this.failures.push({ id, title, by: 'browser', message: messageOf(error) })
  }

  stale(): void {
    this.isStale = true
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function toRow({ id, kind, parent, row, browser, forService }: MergedEntry): AgreedRow {
  const { browserId = null, dateAdded } = browser ?? {}
  const isOwn = !browser || (row?.isOwn && [null, browserId].includes(row.browserId))
  return { id, browserId, dateAdded, ...(isOwn && { isOwn }), kind, parent, content: forService }
}

function isSameRow(one: AgreedRow, other: AgreedRow): boolean {
  return (
    one.browserId === other.browserId &&
    one.kind === other.kind &&
    one.parent === other.parent &&
    !one.step &&
    isSameContent(one.content, other.content) &&
    isSameContent(one.shown ?? one.content, other.shown ?? other.content)
  )
}
