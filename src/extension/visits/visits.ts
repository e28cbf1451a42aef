import {
  isRemovedPage,
  removalOf,
  removedPage,
  sinceErasure,
  wholeHistory,
} from '../../client/bookmark/removed-page.ts'
import type { PlaintextBookmark } from '../../client/bookmark.ts'
import type { Sync } from '../../client/sync/sync.ts'
import { type Clock, pause } from '../../client/timing/clock.ts'
import { nextTurn } from '../../client/timing/paced.ts'
import type { SessionStorageApi } from '../browser-api.ts'
import { isOfSite, storedAddress } from './address.ts'
import { BrowserPages, type Removed, stateOf } from './browser-pages.ts'
import type { HistoryApi, HistoryPage, RemovedPages } from './history-api.ts'
import { findNewVisits, mostEntries } from './new-visits.ts'
import { endedAt, type VisitSettings, type VisitState, type VisitStore } from './visit-store.ts'

/** The parts that `createVisits` needs. */
export interface VisitsOptions {
  sync: Pick<
    Sync,
    'history' | 'status' | 'on' | 'conflicts' | 'resolve' | 'quarantined' | 'dropQuarantined' | 'syncNow'
  >
  history: HistoryApi
  /** `historyId`, with the sync's keys. */
  idOf: (url: string) => string
  store: VisitStore
  /** Visits before this time (Unix ms) may be another person's, and are not stored. */
  notBefore: number
  clock: Clock
  /** The service's time (Unix ms) as far as it is known, because `clock` may be wrong. */
  serviceNow: () => number
  /** `chrome.storage.session`: empty after a restart of the browser, so that `#compare` runs again. */
  session: SessionStorageApi
  /** Schedules a call of `round` in about a minute, even if the worker stops until then. Does nothing if one is due. */
  wake: () => void
}

/** How far this device's browsing history is stored, and the settings. */
export interface VisitsStatus extends VisitSettings {
  /** The number of entries, without those of removed pages. */
  count: number
  /** True while visits from before it was turned on, or while the worker was stopped, are still to be stored. */
  isCatchingUp: boolean
  /** The end of the pause (Unix ms), or null if only `resume` ends it. Missing if it is not paused. */
  pausedUntil?: number | null
  /** True if this browser's whole history was removed: the person must decide about other devices (`answerCleared`). */
  isCleared: boolean
}

/** A browser's history, stored with the bookmarks. */
export interface Visits {
  /** Reads what is stored on this device. Call it before the sync's `start`. */
  start(): Promise<void>
  /** Resolves once all work has ended. */
  stop(): Promise<void>
  /**
   * Sends which pages the person removed, or stores it to be sent later if that takes too long. Call it before the history is
   * turned off or the person signs out. It does not fail.
   */
  flush(): Promise<void>
  /** To be called when the browser reports a visit. */
  visited(page: HistoryPage): void
  /** To be called when the browser reports pages that the person removed, or that expired. */
  removed(news: RemovedPages): Promise<void>
  /** True if the person removed the page of this entry, until a round stores that in the entry. */
  isRemoved(id: string): boolean
  /**
   * Stores new visits, deletes old entries and passes on removals, at most once a minute.
   *
   * @param isLast true if the browser may be closing: then it does not wait for the end of the minute, but not twice in a row
   */
  round(isLast?: boolean): Promise<void>
  status(): Promise<VisitsStatus>
  /** @param until Unix ms; undefined: until `resume` */
  pause(until?: number): Promise<void>
  resume(): Promise<void>
  /** Changes the settings, and deletes the entries of sites that are now excluded. */
  change(settings: VisitSettings): Promise<void>
  /** Answers `isCleared`. @param everywhere whether the history is also to be removed from all devices */
  answerCleared(everywhere: boolean): Promise<void>
  /** Deletes all entries, also those that other devices still store of earlier visits. The browsers' own histories stay. */
  erase(): Promise<void>
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
/** Visits younger than this (ms) wait, because the browser stores a visit and its title with a delay. */
const settleMs = 5000
/** Entries in one push, as many as the service takes. */
const mostAtOnce = 500
/** Entries of other devices that are handled in a row, before this browser's own visits are stored again. */
const mostWritten = 2000
/** The longest time for which a person can have entries kept. */
const mostDays = 365
/** How many days a removed page stays as an entry, so that other devices can learn of it. */
const removalKeptDays = 30
/** Visits up to this time (ms) after an erase count as earlier, because devices' times may differ by about as much. */
const erasureMs = 2 * minuteMs
/** The longest time (ms) for which turning the history off, or signing out, waits for the network. */
const flushMs = 3000
/** Key in the session storage: true once `#compare` has looked for pages removed while the extension did not run. */
const comparedKey = 'visitsCompared'

/**
 * Stores the visits of this browser as history entries. It reads them from the browser's own history, and remembers which
 * periods it has read. So nothing is lost if the worker or the browser stops. Private windows add nothing, because they
 * write no history.
 *
 * If a person removes a page, its entry stays for a while without its address, title and visits. Other devices then
 * remove the page from their browsers. They do not if the entry is deleted: it was too old, or there were too many.
 */
export function createVisits(options: VisitsOptions): Visits {
  return new StoredVisits(options)
}

class StoredVisits implements Visits {
  readonly #options: VisitsOptions
  readonly #pages: BrowserPages
  /** Ids of entries that other devices have changed. */
  readonly #incoming = new Set<string>()
  readonly #removers: (() => void)[] = []
  #state: VisitState
  #tail: Promise<void> = Promise.resolve()
  #loaded: Promise<void> | undefined
  /** True once `stop` was called: work that can wait for the next start does not begin any more. */
  #isStopping = false
  #isStopped = false

  constructor(options: VisitsOptions) {
    this.#options = options
    this.#pages = new BrowserPages(options.history, options.clock)
    const now = options.clock.now()
    const { notBefore } = options
    // If the clock was set back since, all visits until `start`, which ends this pause, may be the other person's.
    const isAhead = notBefore > now
    const spans = isAhead ? [] : [{ from: Math.max(notBefore, now - 90 * dayMs) }]
    const pauses = [{ from: 0, to: isAhead ? undefined : notBefore }]
    this.#state = { keptDays: 90, sites: [], spans, pauses, storedAt: 0, deletedAt: 0, removed: {} }
  }

  async start(): Promise<void> {
    const { sync, wake } = this.#options
    await this.#inTurn(async () => {
      const { pausedUntil = 0, isOff } = this.#state
      const now = this.#options.clock.now()
      // A pause whose end came while the history was off ends only now.
      if (pausedUntil === 0 || (isOff && pausedUntil <= now)) await this.#resumeAt(now)
      if (isOff) await this.#save({ isOff: undefined })
    })
    void this.#inTurn(() => this.#compare()).catch(() => {})
    this.#removers.push(
      sync.on('history', ({ ids, origin }) => {
        if (origin !== 'remote') return
        for (const id of ids) this.#incoming.add(id)
        void this.#inTurn(() => this.#applyIncoming()).catch(() => {})
      }),
      sync.on('conflict', () => void this.#settleConflicts().catch(() => {})),
    )
    wake()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    for (const remove of this.#removers) remove()
    // Handles removals that were reported, because the browser does not report them again.
    await this.#tail
    this.#isStopped = true
    await this.#tail
    await this.#options.session.set({ [comparedKey]: false })
  }

  flush(): Promise<void> {
    return this.#inTurn(async () => {
      const { sync, clock } = this.#options
      const removed = Object.entries(this.#state.removed)
      if (removed.length === 0) return
      // Makes the sync read its store, which it has not done yet if the device is paused.
      await sync.history.put([])
      await this.#put(removed.flatMap(([id, time]) => this.#withoutVisitsUntil(time, id)))
      const sent = sync.syncNow().catch(() => {})
      await pause(clock, flushMs, [sent], new AbortController().signal)
    }).catch(() => {})
  }

  visited({ url, lastVisitTime }: HistoryPage): void {
    const address = storedAddress(url)
    if (!address) return
    const { sync, clock, idOf, wake } = this.#options
    const time = Math.floor(lastVisitTime ?? clock.now())
    wake()
    void this.#inTurn(async () => {
      const { pausedUntil, sites } = this.#state
      const id = idOf(address)
      // During a pause, or on an excluded site, a visit is noted only if the page is known already.
      const isHere = this.#pages.get(id) || sync.history.get(id)?.url !== undefined
      if (!isHere && (pausedUntil !== undefined || isOfSite(address, sites))) return
      // Noted now, because the person may remove the page before its entry is stored.
      this.#pages.remember(id, address, [time], url !== address)
      await this.#save({})
    }).catch(() => {})
  }

  removed({ allHistory, urls = [] }: RemovedPages): Promise<void> {
    const { sync, clock, idOf } = this.#options
    const now = clock.now()
    return this.#inTurn(async () => {
      if (allHistory) return this.#noteCleared(now)
      const pages = new Map<string, Removed>()
      for (const url of urls) {
        const address = storedAddress(url)
        if (!address || this.#pages.isRemovedHere(url)) continue
        const id = idOf(address)
        const page = this.#pages.get(id)
        if (page && (await this.#pages.isThere(page))) continue
        if (page && !page.isGone) pages.set(id, page)
        else if (sync.history.get(id)?.url) pages.set(id, { id })
      }
      await this.#passOn([...pages.values()], now)
    })
  }

  #noteCleared(now: number): Promise<void> {
    this.#pages.clear()
    return this.#save({ clearedAt: now, writtenFrom: Math.max(now, this.#options.serviceNow()) })
  }

  isRemoved(id: string): boolean {
    return this.#state.removed[id] !== undefined
  }

  /** Finds pages removed while the extension did not run: the sync was paused, or the browser removes them as it closes. */
  async #compare(): Promise<void> {
    const { session, clock } = this.#options
    if ((await session.get(comparedKey))[comparedKey]) return
    const { missing, isCleared } = await this.#pages.findMissing()
    await (isCleared ? this.#noteCleared(clock.now()) : this.#passOn(missing, clock.now()))
    await session.set({ [comparedKey]: true })
  }

  /** Notes the pages that the person removed from the browser's history. */
  async #passOn(pages: readonly Removed[], now: number): Promise<void> {
    const removed: Record<string, number> = {}
    for (const page of pages) {
      const entry = this.#options.sync.history.get(page.id)
      // Another device had removed it, and the worker was stopped while this one followed: the removal's time stays.
      if (entry && 'url' in page && (this.#removalOf(entry) ?? 0) >= page.lastVisit) {
        this.#pages.set(page.id, null)
        continue
      }
      const isExpired = await this.#pages.isExpired(page, now)
      const { dateVisited = '' } = entry ?? {}
      // Not before its visits, whose times may be later than now if they were made while a clock was ahead.
      if (!isExpired) removed[page.id] = Math.max(now, page.lastVisit ?? 0, Date.parse(dateVisited) || 0)
      if ('url' in page) this.#pages.set(page.id, isExpired ? { ...page, isGone: true } : null)
    }
    await this.#save({ removed: { ...this.#state.removed, ...removed } })
    if (Object.keys(removed).length > 0) this.#options.wake()
  }

  async round(isLast = false): Promise<void> {
    await this.#inTurn(async () => {
      const { sync, clock, wake } = this.#options
      const now = clock.now()
      const { pausedUntil = 0, storedAt, wasLast } = this.#state
      if (pausedUntil > 0 && pausedUntil <= now) await this.#resumeAt(pausedUntil)
      const { state, lastSync, waiting } = sync.status()
      if (state === 'connecting' || state === 'syncing') return wake()
      if (lastSync === 0 || (state !== 'online' && state !== 'polling')) return
      // A little less than a minute is enough, because the last alarm may have been late.
      if ((!isLast || wasLast) && Math.abs(now - storedAt) < minuteMs - settleMs) return wake()
      await this.#settleConflicts()
      await this.#keepErasure()
      await this.#followErasure()
      await this.#dropErased([...sync.history.records().values()])
      for (const id of this.#unread()) this.#incoming.add(id)
      await this.#applyIncoming()
      await this.#dropRefused(now)
      // Earlier entries still wait to be sent: the service is slower than the browser.
      if (waiting >= mostAtOnce) return wake()
      // Deletes and new visits go into separate pushes.
      if (await this.#deleteOld(now)) return wake()
      await this.#storeNew(now, isLast)
      if (this.#isCatchingUp) wake()
    })
  }

  async status(): Promise<VisitsStatus> {
    await this.#whenLoaded()
    const { keptDays, sites, pausedUntil, clearedAt } = this.#state
    const entries = [...this.#options.sync.history.records().values()]
    return {
      ...{ keptDays, sites, count: entries.filter((entry) => !isRemovedPage(entry)).length },
      isCatchingUp: this.#isCatchingUp,
      ...(pausedUntil !== undefined && { pausedUntil: Number.isFinite(pausedUntil) ? pausedUntil : null }),
      isCleared: clearedAt !== undefined,
    }
  }

  get #isCatchingUp(): boolean {
    const { spans, pausedUntil } = this.#state
    return spans.some(({ to }) => to !== undefined) && pausedUntil === undefined
  }

  pause(until = Number.POSITIVE_INFINITY): Promise<void> {
    return this.#inTurn(() => this.#save({ ...endedAt(this.#state, this.#options.clock.now()), pausedUntil: until }))
  }

  resume(): Promise<void> {
    return this.#inTurn(() => this.#resumeAt(this.#options.clock.now()))
  }

  async #resumeAt(now: number): Promise<void> {
    const { spans, pauses } = this.#state
    if (pauses.every(({ to }) => to !== undefined)) return
    const oldest = Math.min(now, this.#options.serviceNow()) - mostDays * dayMs
    const ended = pauses
      // If the clock was set back during a pause, its true start is not known, so everything before its end counts as paused.
      .map(({ from, to = now }) => ({ from: from > to ? 0 : from, to }))
      .filter(({ to }) => to > oldest)
    const later = await this.#pages.laterVisits()
    await this.#save({ spans: [...spans, { from: now }], pauses: [...ended, ...later], pausedUntil: undefined })
    this.#options.wake()
  }

  change({ keptDays, sites }: VisitSettings): Promise<void> {
    return this.#inTurn(async () => {
      const { sync, clock } = this.#options
      const { keptDays: before, spans } = this.#state
      const [from, to] = [clock.now() - keptDays * dayMs, clock.now() - before * dayMs]
      for (const { id, url } of this.#pages.all()) if (isOfSite(url, sites)) this.#pages.set(id, null)
      await this.#save({ keptDays, sites, spans: from < to ? [{ from, to }, ...spans] : spans })
      const left = [...sync.history.records().values()].filter(({ url }) => url && isOfSite(url, sites))
      await this.#remove(left.map(({ id }) => id))
      this.#options.wake()
    })
  }

  answerCleared(everywhere: boolean): Promise<void> {
    return this.#inTurn(async () => {
      const { clearedAt, removed } = this.#state
      if (clearedAt === undefined) return
      const { wake } = this.#options
      const ids = everywhere ? this.#entryIds : []
      await this.#save({
        clearedAt: undefined,
        removed: { ...removed, ...Object.fromEntries(ids.map((id) => [id, Math.max(clearedAt, removed[id] ?? 0)])) },
        storedAt: 0,
      })
      wake()
    })
  }

  erase(): Promise<void> {
    return this.#inTurn(async () => {
      // First, because it also holds if the rest is interrupted.
      await this.#put([removedPage(this.#wholeId, this.#options.serviceNow())])
      await this.#remove(this.#entryIds)
      await this.#followErasure()
    })
  }

  get #wholeId(): string {
    return this.#options.idOf(wholeHistory)
  }

  get #entryIds(): string[] {
    return [...this.#options.sync.history.records().keys()].filter((id) => id !== this.#wholeId)
  }

  /** Stores the time of the last erase again if its entry is lost, as after a new vault was made. */
  async #keepErasure(): Promise<void> {
    const { sync, serviceNow } = this.#options
    const { erasedAt = 0 } = this.#state
    const isOver = serviceNow() - erasedAt > mostDays * dayMs
    if (!isOver && !sync.history.get(this.#wholeId)) await this.#put([removedPage(this.#wholeId, erasedAt)])
  }

  /** This browser's earlier visits are never stored again once the history was erased, on any device. */
  async #followErasure(): Promise<void> {
    const { sync, clock, serviceNow } = this.#options
    const erasedAt = removalOf(sync.history.get(this.#wholeId))
    if (erasedAt === undefined || erasedAt === this.#state.erasedAt) return
    const now = clock.now()
    // This device's clock counts, because its visits have the times of that clock.
    const until = Math.min(now, erasedAt + now - serviceNow() + erasureMs)
    const isEarlier = (time: number) => time < until
    await this.#dropErased([...sync.history.records().values()], isEarlier)
    this.#pages.forgetUntil(until - 1)
    const { spans, pauses, removed, clearedAt = until } = this.#state
    const later = await this.#pages.laterVisits()
    await this.#save({
      erasedAt,
      // A period that starts later than now is from before the clock was set back.
      spans: spans
        .map(({ from, to }) => ({ from: Math.max(from > now ? 0 : from, until), to }))
        .filter(({ from, to }) => !to || to > from),
      pauses: [{ from: 0, to: until }, ...pauses.filter(({ to }) => !to || to > until), ...later],
      removed: Object.fromEntries(Object.entries(removed).filter(([, time]) => !isEarlier(time))),
      clearedAt: isEarlier(clearedAt) ? undefined : this.#state.clearedAt,
    })
  }

  /**
   * Deletes visits from before the history was erased, which were stored by devices that had not learned of it.
   *
   * @param isEarlier true for times of this browser's visits that are to be deleted, too: its clock may be wrong
   */
  async #dropErased(entries: readonly PlaintextBookmark[], isEarlier = (_time: number) => false): Promise<void> {
    const { history } = this.#options.sync
    const { dateModified: erasedAt } = history.get(this.#wholeId) ?? {}
    if (!erasedAt) return
    const own = new Map<string, Set<number>>()
    for (const { id, visits } of entries) {
      const page = this.#pages.get(id)
      if (page && visits?.some((visit) => visit > erasedAt && isEarlier(Date.parse(visit))))
        own.set(id, new Set((await this.#pages.timesOf(page)).filter(isEarlier)))
    }
    const since = (entry: Readonly<PlaintextBookmark>) => sinceErasure(entry, erasedAt, own.get(entry.id))
    const gone = entries.filter((entry) => since(entry) === null)
    const cut = entries.filter((entry) => ![entry, null].includes(since(entry)))
    await this.#remove(gone.map(({ id }) => id))
    // An update, because a put would merge the visits with those of the entry.
    await inBatches(
      cut.map(({ id }) => id),
      (some) => history.update(some, since),
    )
  }

  /** Marks new entries whose times are from before the last erase, because this device's clock is slow. */
  #asLater(entries: readonly PlaintextBookmark[]): PlaintextBookmark[] {
    const { dateModified } = this.#options.sync.history.get(this.#wholeId) ?? {}
    const isEarlier = (entry: PlaintextBookmark) => dateModified && sinceErasure(entry, dateModified) !== entry
    return entries.map((entry) => (isEarlier(entry) ? { ...entry, dateModified } : entry)) as PlaintextBookmark[]
  }

  /** When the page was removed; undefined if the whole history was erased since. */
  #removalOf(entry: PlaintextBookmark): number | undefined {
    const removedAt = removalOf(entry) ?? 0
    return removedAt > (this.#state.erasedAt ?? 0) ? removedAt : undefined
  }

  #inTurn(task: () => Promise<void>): Promise<void> {
    const turn = this.#tail.then(async () => {
      // A person may ask for something before `start`.
      await this.#whenLoaded()
      if (!this.#isStopped) await task()
    })
    this.#tail = turn.catch(() => {})
    return turn
  }

  #whenLoaded(): Promise<void> {
    this.#loaded ??= this.#load()
    return this.#loaded
  }

  async #load(): Promise<void> {
    const { state, pages } = await this.#options.store.load()
    if (state) this.#state = state
    this.#pages.load(pages)
    if (!state) await this.#save({})
  }

  async #save(state: Partial<VisitState>): Promise<void> {
    this.#state = { ...this.#state, ...state }
    await this.#pages.save((pages) => this.#options.store.write(this.#state, pages))
  }

  /** Resolves the history's conflicts, which are usually over titles, without asking. */
  async #settleConflicts(): Promise<void> {
    const { sync } = this.#options
    for (const one of sync.conflicts()) if (one.entityType === 'history') await sync.resolve(one, 'theirs')
  }

  /** Drops entries that the service refused, usually as the account is full: this browser has its history anyway. */
  async #dropRefused(now: number): Promise<void> {
    const { sync } = this.#options
    const refused = sync.quarantined().filter(({ entityType }) => entityType === 'history')
    if (refused.length === 0) return
    await sync.dropQuarantined(refused)
    await this.#save({ refusedAt: now })
  }

  /** Deletes a batch of old entries, at most once an hour. Returns whether there were any. */
  async #deleteOld(now: number): Promise<boolean> {
    const { keptDays, deletedAt } = this.#state
    if (Math.abs(now - deletedAt) < hourMs) return false
    const { sync } = this.#options
    // Uses the service's clock: this device's may be wrong, and then every entry would look old.
    const { lastSync } = sync.status()
    const daysAgo = (days: number) => new Date(lastSync - days * dayMs).toISOString()
    const [before, removedBefore, erasedBefore] = [daysAgo(keptDays), daysAgo(removalKeptDays), daysAgo(mostDays)]
    const whole = this.#wholeId
    const entries = [...sync.history.records().values()]
    const isOld = (entry: PlaintextBookmark) => {
      const { id, dateModified, dateAdded, dateVisited = dateAdded } = entry
      // No device reads visits that are older than the time of the erase may be.
      if (id === whole) return dateModified !== undefined && dateModified < erasedBefore
      const [last, limit] = isRemovedPage(entry) ? [dateModified, removedBefore] : [dateVisited, before]
      return last !== undefined && last < limit
    }
    for (const { id, lastVisit } of this.#pages.all()) {
      if (!sync.history.get(id) && now - lastVisit > keptDays * dayMs) this.#pages.set(id, null)
    }
    const excess = entries.length - mostEntries
    const old = excess > 0 ? byLastVisit(entries, whole).slice(0, excess) : entries.filter(isOld)
    await this.#remove(old.slice(0, mostAtOnce).map(({ id }) => id))
    await this.#save({ deletedAt: now, ...(old.length > 0 && { storedAt: now }) })
    return old.length > 0
  }

  #remove(ids: readonly string[]): Promise<void> {
    return inBatches(ids, (some) => this.#options.sync.history.remove(some))
  }

  #put(entries: readonly PlaintextBookmark[]): Promise<void> {
    return inBatches(entries, (some) => this.#options.sync.history.put(some))
  }

  async #storeNew(now: number, isLast: boolean): Promise<void> {
    const { removed, refusedAt } = this.#state
    const isFull = refusedAt !== undefined && Math.abs(now - refusedAt) < hourMs
    const again = Object.entries(removed).map(([id, time]) => [id, Math.min(time, this.#removedAt(id, time))])
    const state = { ...this.#state, removed: Object.fromEntries(again) }
    const { found, spans } = isFull
      ? { found: [], spans: this.#state.spans }
      : await findNewVisits({ ...this.#options, pages: this.#pages, state }, isLast ? now : now - settleMs, mostAtOnce)
    const isAgain = new Set(found.map(({ id }) => id))
    const gone = Object.entries(removed).filter(([id]) => !isAgain.has(id))
    const news = [...gone.flatMap(([id, time]) => this.#withoutVisitsUntil(time, id)), ...found]
    // Saves the pages before storing their entries: if the worker stops in between, `#compare` finds pages removed later.
    await this.#save({})
    await this.#put(this.#asLater(news))
    await this.#save({ spans, removed: {}, ...(news.length > 0 && { storedAt: now, wasLast: isLast }) })
  }

  /** The service's time of a removal (Unix ms). `time` is by this device's clock, or the time of a later visit. */
  #removedAt(id: string, time: number): number {
    const { sync, clock, serviceNow } = this.#options
    const now = serviceNow()
    const visits = (sync.history.get(id)?.visits ?? []).map((visit) => Date.parse(visit))
    return Math.max(Math.min(time + now - clock.now(), now), ...visits.filter((visit) => visit <= time))
  }

  /** The entry after its page was removed. Visits of other devices after the removal stay. */
  #withoutVisitsUntil(time: number, id: string): PlaintextBookmark[] {
    const entry = this.#options.sync.history.get(id)
    const removedAt = this.#removedAt(id, time)
    if (!entry || (removalOf(entry) ?? 0) >= removedAt) return []
    const visits = (entry.visits ?? []).filter((visit) => Date.parse(visit) > removedAt)
    const [dateVisited = '', dateAdded] = [visits[0], visits.at(-1)]
    const removed = removedPage(id, removedAt)
    return [
      dateAdded
        ? { ...entry, ...removed, dateAdded, dateVisited, visits, visitCount: visits.length, title: entry.title }
        : removed,
    ]
  }

  /**
   * True if other devices' visits are written to this browser: only in Firefox, and only once its own earlier visits
   * are stored, because the two could not be told apart later.
   */
  get #isWriting(): boolean {
    return this.#pages.isFirefox && this.#state.spans.every(({ to }) => to === undefined)
  }

  /** Ids of entries whose visits or removal this browser may lack: a worker may have stopped before it handled them. */
  #unread(): string[] {
    const { history } = this.#options.sync
    const isWriting = this.#isWriting
    const from = new Date(this.#writtenFrom).toISOString()
    return [...history.records().values()].flatMap((entry) => {
      const { id, dateVisited = '' } = entry
      const page = this.#pages.get(id)
      if (isRemovedPage(entry)) return page ? id : []
      if (!page || (!page.isGone && page.lastVisit <= (this.#removalOf(entry) ?? 0))) return id
      return isWriting && dateVisited > from && page.written !== stateOf(entry) ? id : []
    })
  }

  /** Visits before this time (Unix ms) are not written to the browser. */
  get #writtenFrom(): number {
    const { keptDays, writtenFrom = 0 } = this.#state
    return Math.max(writtenFrom, this.#options.clock.now() - keptDays * dayMs)
  }

  /** Brings this browser's history up to date with what other devices have stored and removed. */
  async #applyIncoming(): Promise<void> {
    const { history } = this.#options.sync
    await this.#followErasure()
    const ids = [...this.#incoming].slice(0, mostWritten)
    await this.#dropErased(ids.flatMap((id) => history.get(id) ?? []))
    // Goes on after a failure, because the browser may refuse one address and accept the others.
    for (const id of ids) await this.#lookFor(history.get(id)).catch(() => {})
    // Saves the pages before writing visits: if the worker stops in between, another device's removal still finds them.
    if (ids.length > 0) await this.#save({})
    for (const id of ids) {
      if (this.#isStopping) return
      this.#incoming.delete(id)
      const entry = history.get(id)
      if (entry) await this.#apply(entry).catch(() => {})
    }
    if (ids.length > 0) await this.#save({})
    if (this.#incoming.size > 0) this.#options.wake()
  }

  async #apply(entry: PlaintextBookmark): Promise<void> {
    await this.#pages.applyRemoval(entry, this.#removalOf(entry))
    await this.#lookFor(entry)
    const page = entry.url ? this.#pages.get(entry.id) : undefined
    if (page && this.#isWriting && this.#state.removed[page.id] === undefined)
      await this.#pages.write(entry, page, this.#writtenFrom)
  }

  async #lookFor({ id = '', url }: Partial<PlaintextBookmark> = {}): Promise<void> {
    // Another client may have stored an address that this extension does not store.
    if (url && url === storedAddress(url) && !this.#pages.get(id)) await this.#pages.lookFor(id, url)
  }
}

async function inBatches<T>(all: readonly T[], work: (some: T[]) => Promise<unknown>): Promise<void> {
  for (let start = 0; start < all.length; start += mostAtOnce) {
    await work(all.slice(start, start + mostAtOnce))
    await nextTurn()
  }
}

function byLastVisit(entries: readonly PlaintextBookmark[], except: string): PlaintextBookmark[] {
  const visited = entries.filter(({ id }) => id !== except)
  return visited.sort((one, other) => ((one.dateVisited ?? '') < (other.dateVisited ?? '') ? -1 : 1))
}
