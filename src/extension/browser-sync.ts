import type { Likeness } from '../client/crypto/derived-id.ts'
import { StoreBlockedError } from '../client/errors.ts'
import { uuidv7 } from '../client/ids.ts'
import { Emitter, type SyncProgress } from '../client/sync/store/emitter.ts'
import type { Sync } from '../client/sync/sync.ts'
import { Alarm, type Clock, pause, systemClock } from '../client/timing/clock.ts'
import { type Agreed, AgreedDraft, type AgreedRow, type AgreedStore, Restart, settlingMs, takeRoots } from './agreed.ts'
import type { BookmarksApi, SessionStorageApi } from './browser-api.ts'
import { type BookmarkWatch, BrowserMirror } from './browser-mirror.ts'
import { compareSides, type Refused } from './compare.ts'
import { type Copy, type FoundCopy, separateRow, unitedRow } from './copies.ts'
import { RemovalGuard } from './removal-guard.ts'
import { type Roots, readBrowserTree } from './trees.ts'

/** The two sides that `createBrowserSync` keeps in step, and the store of what they last agreed on. */
export interface BrowserSyncOptions {
  sync: Pick<Sync, 'deviceId' | 'get' | 'tree' | 'status' | 'put' | 'update' | 'remove' | 'restoreExport' | 'on'>
  /**
   * `deriveId`, with the sync's keys. With it, browsers with the same bookmarks that meet an empty account at the same
   * time add them once; without it, each adds its own.
   */
  deriveId?: ((likeness: Likeness) => string) | undefined
  /** `chrome.bookmarks`, or `browser.bookmarks` in Firefox. */
  bookmarks: BookmarksApi
  /** From `watchBookmarks`. */
  watch: BookmarkWatch
  /** `indexedDbAgreedStore(userId)` in extensions. */
  store: AgreedStore
  /** `chrome.storage.session`: shows whether the browser was restarted, and so may have lost recent changes. */
  session: SessionStorageApi
  clock?: Clock | undefined
}

/**
 * - `waiting`: for the start, the end of a pull or import, a sign-in, or `decideCopies`
 * - `comparing`: one side is being brought up to date with the other, or a delete waits some seconds because the user
 *   may undo it or paste
 * - `in-step`: compared, and the same except for what is refused, held or left out
 * - `failed`: for example, this device's storage is full, or the browser does not answer; the next change tries again
 */
export type BrowserSyncState = 'waiting' | 'comparing' | 'in-step' | 'failed'

/** How far both sides are in step, and what waits. */
export interface BrowserSyncStatus {
  state: BrowserSyncState
  /** The error of the state `failed`. */
  error?: Error
  /** In the state `comparing`: the number of bookmarks to add on both sides, and of those added. Some may not be sent yet. */
  progress?: SyncProgress
  /** Bookmarks that one side refused, or that the browser failed to move or remove. */
  refused: Refused[]
  /** Deletes in this browser that wait for `approveRemovals` or `rejectRemovals`, and the number of all bookmarks. */
  heldRemovals?: { count: number; of: number }
  /** At the first comparison: how many bookmarks look like copies. Nothing changes before `decideCopies`. */
  copies?: number
}

/** Keeps a browser's bookmarks in step with a sync. */
export interface BrowserSync {
  /**
   * Resolves once the first comparison has ended or must wait. Runs until `stop`. Call it before the sync's `start`, so
   * that it finds what an earlier worker left unfinished before anything else changes.
   */
  start(): Promise<void>
  /** Resolves once nothing runs any longer. */
  stop(): Promise<void>
  /** Compares now. Resolves once that has ended, failed, or must wait. For an alarm, and for a button. */
  compareNow(): Promise<void>
  status(): BrowserSyncStatus
  /** The deletes of `status().heldRemovals`. */
  heldRemovals(): { id: string; title: string }[]
  /** Passes on the deletes that the user has seen: these bookmarks are deleted on all devices. */
  approveRemovals(ids: readonly string[]): Promise<void>
  /** Restores the held deletes in the browser, and on all devices those passed on unasked in the minute before them. */
  rejectRemovals(): Promise<void>
  /** This browser's bookmarks that look like copies, with their places. */
  copies(): Copy[]
  /**
   * Decides about copies that the user has seen.
   * @param areOne true: each pair becomes one bookmark, with the place and title that it has in the account; false: both stay
   */
  decideCopies(ids: readonly string[], areOne: boolean): Promise<void>
  /** The ids of the browser's own folders that are kept in step, by role. Chrome may have others, in an account. */
  roots(): Roots
  /** The browser's ids of the folders that this device leaves out. */
  leftOut(): string[]
  /** Leaves out a folder of the browser: it and its counterpart in the account stay as they are. */
  leaveOut(browserId: string): Promise<void>
  /** Includes a folder again. Bookmarks that are equal on both sides become one. */
  takeIn(browserId: string): Promise<void>
  /** `status`: the result of `status()` may have changed. Returns a function that removes the listener. */
  on(event: 'status', listener: () => void): () => void
}

/** A comparison waits this long (ms) after an event, because a change often causes several events. */
const settleMs = 150
const mostPauseMs = 10_000
const mostBackoffMs = 600_000
const sessionKey = 'agreed'
/** Comparisons in a row. If the user goes on making changes, the next event starts another one. */
const mostComparisons = 5

/**
 * Keeps the browser's bookmarks in step with the sync's. Compares both sides with what they last agreed on, instead of
 * applying events one by one, so that it misses nothing while the worker is stopped or the browser is closed.
 */
export function createBrowserSync(options: BrowserSyncOptions): BrowserSync {
  return new InStep(options)
}

class InStep implements BrowserSync {
  readonly #options: BrowserSyncOptions
  readonly #clock: Clock
  #guard: RemovalGuard
  readonly #mirror: BrowserMirror
  readonly #emitter = new Emitter<{ status: undefined }>()
  readonly #ended = new AbortController()
  readonly #changed = new Alarm()
  #agreed: AgreedDraft | undefined
  #state: BrowserSyncState = 'waiting'
  #error: Error | undefined
  #progress: SyncProgress | undefined
  #failures: Refused[] = []
  #copies: FoundCopy[] = []
  /** The queue of comparisons and decisions. */
  #tail: Promise<void> = Promise.resolve()
  #watching: Promise<void> | undefined
  #backoffMs = 0
  #isSettling = false

  constructor(options: BrowserSyncOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#guard = new RemovalGuard(this.#clock, { rows: new Map() })
    this.#mirror = new BrowserMirror(options.bookmarks, this.#clock)
    const removeTouch = options.watch.on('change', (touched) => this.#mirror.touch(touched))
    this.#ended.signal.addEventListener('abort', removeTouch)
  }

  async start(): Promise<void> {
    const { sync, watch } = this.#options
    const ring = () => this.#changed.ring()
    const removers = [watch.on('change', ring), sync.on('change', ring), sync.on('status', () => this.#wake())]
    this.#ended.signal.addEventListener('abort', () => {
      for (const remove of removers) remove()
    })
    this.#watching ??= this.#follow()
    // Loads the stored bookmarks without exchanging anything.
    await sync.put([])
    await this.compareNow()
  }

  async stop(): Promise<void> {
    this.#ended.abort(new DOMException('The browser sync was stopped', 'AbortError'))
    this.#changed.ring()
    await Promise.allSettled([this.#tail, this.#watching])
  }

  compareNow(): Promise<void> {
    return this.#inTurn(() => this.#compare())
  }

  status(): BrowserSyncStatus {
    const { held } = this.#guard
    const rows = [...(this.#agreed?.rows.values() ?? [])]
    const refused = rows.flatMap(({ id, content: { title }, refused }) => (refused ? [{ id, title, ...refused }] : []))
    return {
      state: this.#state,
      ...(this.#state === 'failed' && this.#error && { error: this.#error }),
      ...(this.#progress && { progress: this.#progress }),
      refused: [...refused, ...this.#failures],
      ...(held.length > 0 && { heldRemovals: { count: held.length, of: rows.length } }),
      ...(this.#copies.length > 0 && { copies: this.#copies.length }),
    }
  }

  heldRemovals(): { id: string; title: string }[] {
    return this.#guard.held.map(({ id, title }) => ({ id, title }))
  }

  approveRemovals(ids: readonly string[]): Promise<void> {
    return this.#inTurn(async () => {
      await this.#load()
      this.#guard.approve(ids)
      await this.#guard.save(this.#options.store)
      await this.#compare()
    })
  }

  rejectRemovals(): Promise<void> {
    const { sync } = this.#options
    return this.#decide(async (agreed) => {
      await sync.put(this.#guard.recent.filter(({ id }) => !sync.get(id)))
      return this.#guard.held.flatMap(({ id }) => {
        const row = agreed.rows.get(id)
        return row ? [[id, { ...row, browserId: null }]] : []
      })
    })
  }

  copies(): Copy[] {
    return this.#copies.map(({ id, here, elsewhere }) => ({ id, here, elsewhere }))
  }

  decideCopies(ids: readonly string[], areOne: boolean): Promise<void> {
    return this.#decide(async () => {
      const shown = new Set(ids)
      const decided = this.#copies.filter(({ id }) => shown.has(id)).map(areOne ? unitedRow : separateRow)
      return decided.map((row) => [row.id, row])
    })
  }

  roots(): Roots {
    return this.#agreed?.roots ?? new Map()
  }

  leftOut(): string[] {
    return [...(this.#agreed?.rows.values() ?? [])].flatMap((row) => (row.leftOut ? (row.browserId ?? []) : []))
  }

  leaveOut(browserId: string): Promise<void> {
    return this.#decide(async (agreed) => {
      const row = [...agreed.rows.values()].find((row) => row.browserId === browserId)
      const folder = row ?? { id: uuidv7(), browserId, kind: 'folder' as const, parent: '', content: { title: '' } }
      return [[folder.id, { ...folder, leftOut: true }]]
    })
  }

  takeIn(browserId: string): Promise<void> {
    return this.#decide(async (agreed) => {
      const rows = [...agreed.rows.values()].filter((row) => row.leftOut && row.browserId === browserId)
      return rows.map(({ id }) => [id, null])
    })
  }

  on(event: 'status', listener: () => void): () => void {
    return this.#emitter.on(event, listener)
  }

  /** Compares after each change that one side reports. Its own changes are reported, too: it then finds no difference. */
  async #follow(): Promise<void> {
    const { signal } = this.#ended
    // While another extension makes thousands of changes, comparisons usually take at most half of the time.
    for (let took = 0; !signal.aborted; ) {
      await this.#changed.rung
      await pause(this.#clock, Math.max(settleMs, took, this.#backoffMs), [], signal)
      this.#changed.reset()
      const start = this.#clock.now()
      if (!signal.aborted) await this.compareNow()
      took = Math.min(mostPauseMs, Math.max(0, this.#clock.now() - start))
    }
  }

  /** After a pull, changes may have arrived that were not compared yet. */
  #wake(): void {
    if (this.#state === 'waiting' && this.#isReady()) this.#changed.ring()
  }

  #decide(decision: (agreed: AgreedDraft) => Promise<[string, AgreedRow | null][]>): Promise<void> {
    return this.#inTurn(async () => {
      const agreed = await this.#load()
      await agreed.announce(this.#options.store, new Map(await decision(agreed)))
      await this.#compare()
    })
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    const turn = this.#tail.then(async () => {
      if (!this.#ended.signal.aborted) await task()
    })
    this.#tail = turn.catch(() => {})
    return turn
  }

  async #load(): Promise<AgreedDraft> {
    if (this.#agreed) return this.#agreed
    const { store, session, sync } = this.#options
    const isRestarted = !(await session.get(sessionKey))[sessionKey]
    const stored = await store.load()
    const guard = new RemovalGuard(this.#clock, stored)
    const roots = takeRoots(stored)
    const restart = isRestarted ? await this.#readRestart(stored, roots) : undefined
    const agreed = new AgreedDraft(stored, roots, restart)
    if (restart) {
      guard.hold(restart.missing(agreed.rows).flatMap((id) => sync.get(id) ?? []))
      await guard.save(store)
      await agreed.settleAll(store)
      await session.set({ [sessionKey]: true })
    }
    this.#guard = guard
    this.#agreed = agreed
    return agreed
  }

  async #readRestart({ rows }: Agreed, roots: Roots): Promise<Restart> {
    return new Restart(await readBrowserTree(await this.#mirror.read(), new Set(), roots), rows)
  }

  /** False during a pull or after a sign-out, when missing bookmarks would look deleted, and during an import. */
  #isReady(): boolean {
    const { state, lastSync } = this.#options.sync.status()
    return lastSync > 0 && state !== 'syncing' && state !== 'signed-out' && !this.#options.watch.isImporting
  }

  async #compare(): Promise<void> {
    if (!this.#isReady()) return this.#show('waiting')
    await this.#attempt(async () => {
      const agreed = await this.#load()
      await agreed.settle(this.#options.store, this.#clock.now())
      this.#show('comparing')
      const report = (progress: SyncProgress) => this.#show('comparing', progress)
      let isStale = true
      for (let count = 0; isStale && count < mostComparisons && !this.#ended.signal.aborted; count++) {
        const result = await compareSides(
          { ...this.#options, clock: this.#clock, guard: this.#guard, mirror: this.#mirror, report },
          agreed,
        )
        this.#failures = result.failures
        this.#copies = result.copies
        isStale = result.isStale
      }
      // Slows down if the browser keeps changing what it is given, because each such change leads to a comparison.
      this.#backoffMs = isStale ? Math.min(mostBackoffMs, 2 * this.#backoffMs + settleMs) : 0
      const { restMs } = this.#guard
      if (this.#copies.length > 0) return this.#show('waiting')
      this.#show(restMs > 0 ? 'comparing' : 'in-step')
      if (restMs > 0 && this.#watching) void this.#lookAfter(restMs)
    })
    if (this.#watching) void this.#settle()
  }

  async #lookAfter(ms: number): Promise<void> {
    await pause(this.#clock, ms, [], this.#ended.signal)
    this.#changed.ring()
  }

  /** Settles the agreed tree from time to time. Ends once everything is settled, so that no timer runs any longer. */
  async #settle(): Promise<void> {
    if (this.#isSettling) return
    this.#isSettling = true
    const { signal } = this.#ended
    while (this.#agreed?.isSettled === false && !signal.aborted) {
      await pause(this.#clock, settlingMs, [], signal)
      const settle = async () => this.#agreed?.settle(this.#options.store, this.#clock.now())
      await this.#inTurn(() => this.#attempt(settle))
    }
    this.#isSettling = false
  }

  async #attempt(task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      // Memory and store may differ now, so the next attempt loads and reads everything again.
      this.#agreed = undefined
      this.#mirror.forget()
      this.#error = error instanceof Error ? error : new Error(String(error))
      this.#show('failed')
      // Tries again at once: opening the store waits for the tab that blocks it.
      if (error instanceof StoreBlockedError) this.#changed.ring()
    }
  }

  #show(state: BrowserSyncState, progress?: SyncProgress): void {
    this.#state = state
    this.#progress = progress
    this.#emitter.emit('status', undefined)
  }
}
