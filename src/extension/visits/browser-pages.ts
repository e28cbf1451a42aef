import { mostVisits } from '../../client/bookmark/merge.ts'
import type { PlaintextBookmark } from '../../client/bookmark.ts'
import type { Clock } from '../../client/timing/clock.ts'
import { readable, storedAddress } from './address.ts'
import type { HistoryApi } from './history-api.ts'
import type { Span, VisitedPage } from './visit-store.ts'

/** A page that was removed from the browser's history. Only the id is known if this device had not noted the page. */
export type Removed = VisitedPage | { id: string; lastVisit?: undefined }

const dayMs = 86_400_000
/** Chrome expires visits after 90 days, Firefox those of long addresses and downloads after 60. A day less is safe. */
const chromeExpiresMs = 89 * dayMs
const firefoxExpiresMs = 59 * dayMs
/** Firefox never expires visits that are younger than this (ms), however many there are. */
const firefoxKeepsMs = 7 * dayMs
/** Firefox expires pages by their number once its database has more than 37 MiB. Fewer pages do not fill that. */
const fewestToExpire = 5000
/** If fewer young pages are missing, the history counts as cleared only if no visit known at the start is left. */
const fewestCleared = 5
/** The most pages to look up at once. */
const mostAtOnce = 500

/** Remembers which pages of the synced history this browser has, and applies other devices' changes to its own history. */
export class BrowserPages {
  /** Only Firefox lets an extension add a visit with a time. */
  readonly isFirefox: boolean
  readonly #history: HistoryApi
  readonly #clock: Pick<Clock, 'now'>
  readonly #pages = new Map<string, VisitedPage>()
  /** Pages that are not written to the store yet. */
  readonly #changed = new Map<string, VisitedPage | null>()
  /** Addresses that this class has removed. The browser will report each as if the person had removed it. */
  readonly #removedHere = new Set<string>()
  /** The latest visit (Unix ms) that was known at the start. */
  #knownUntil = 0
  #isLarge: boolean | undefined

  constructor(history: HistoryApi, clock: Pick<Clock, 'now'>) {
    this.#history = history
    this.#clock = clock
    this.isFirefox = history.onTitleChanged !== undefined
  }

  load(pages: readonly VisitedPage[]): void {
    for (const page of pages) {
      this.#pages.set(page.id, page)
      this.#knownUntil = Math.max(this.#knownUntil, page.lastVisit)
    }
  }

  async save(write: (changed: ReadonlyMap<string, VisitedPage | null>) => Promise<void>): Promise<void> {
    const changed = new Map(this.#changed)
    await write(changed)
    for (const [id, page] of changed) if (this.#changed.get(id) === page) this.#changed.delete(id)
  }

  get(id: string): VisitedPage | undefined {
    return this.#pages.get(id)
  }

  all(): Iterable<VisitedPage> {
    return this.#pages.values()
  }

  set(id: string, page: VisitedPage | null): void {
    if (page) this.#pages.set(id, page)
    else this.#pages.delete(id)
    this.#changed.set(id, page)
  }

  clear(): void {
    this.forgetUntil(Number.POSITIVE_INFINITY)
  }

  /** Forgets pages and times of visits up to this time (Unix ms). */
  forgetUntil(time: number): void {
    for (const [id, page] of this.#pages) {
      const { lastVisit, had } = page
      this.set(id, lastVisit > time ? { ...page, had: had?.filter((visit) => visit > time) } : null)
    }
  }

  remember(id: string, url: string, times: readonly number[], isPart = false): void {
    const before = this.#pages.get(id)
    const hasParts = isPart || before?.hasParts ? true : undefined
    const lastVisit = Math.max(before?.lastVisit ?? 0, ...times)
    const had = this.isFirefox ? latest([...(before?.had ?? []), ...times]) : undefined
    const isSame = before && !before.isGone && before.lastVisit === lastVisit && before.hasParts === hasParts
    if (isSame && before.had?.join() === had?.join()) return
    this.set(id, { ...before, id, url, lastVisit, had, isGone: undefined, ...(hasParts && { hasParts }) })
  }

  /** Looks in the browser for an entry's page: it may have been visited in a pause, or before storing was turned on. */
  async lookFor(id: string, url: string): Promise<void> {
    const times = await this.#timesOf(url)
    if (times.length > 0) this.remember(id, url, times)
    else this.set(id, { id, url, lastVisit: 0, isGone: true })
  }

  /** True if the browser still has the page, under any of its addresses. */
  async isThere(page: VisitedPage): Promise<boolean> {
    for (const url of await this.#addressesOf(page)) {
      if ((await this.#timesOf(url)).length > 0) return true
    }
    return page.hasParts === true && (await this.#addressesAt(page.lastVisit, page.lastVisit)).has(page.url)
  }

  /** The periods of visits that are in the future, because the clock was set back after them. */
  async laterVisits(): Promise<Span[]> {
    const now = this.#clock.now()
    const query = { text: '', startTime: now, endTime: now + 36_500 * dayMs, maxResults: mostAtOnce }
    const pages = await this.#history.search(query)
    if (pages.length === mostAtOnce) return [{ from: now, to: (pages[0]?.lastVisitTime ?? now) + 1 }]
    const times = await Promise.all(pages.map(({ url = '' }) => this.#timesOf(url)))
    return times.flat().flatMap((from) => (from >= now ? { from, to: from + 1 } : []))
  }

  /** Addresses visited in this time. Searched by time, because browsers do not find every address by its text. */
  async #addressesAt(from: number, to: number): Promise<Set<string | undefined>> {
    const query = { text: '', startTime: from, endTime: to + 1, maxResults: 2 * mostAtOnce }
    return new Set((await this.#history.search(query)).map(({ url }) => storedAddress(url)))
  }

  /** True if this class removed the address. The next call returns false. */
  isRemovedHere(url: string): boolean {
    return this.#removedHere.delete(url)
  }

  /** The pages that the browser no longer has, and whether its whole history seems to have been cleared. */
  async findMissing(): Promise<{ missing: VisitedPage[]; isCleared: boolean }> {
    const pages = [...this.#pages.values()].filter(({ isGone }) => !isGone)
    pages.sort((one, other) => one.lastVisit - other.lastVisit)
    const missing: VisitedPage[] = []
    for (let start = 0; start < pages.length; start += mostAtOnce) {
      const part = pages.slice(start, start + mostAtOnce)
      const there = await this.#addressesAt(part[0]?.lastVisit ?? 0, part.at(-1)?.lastVisit ?? 0)
      for (const page of part) if (!there.has(page.url) && !(await this.isThere(page))) missing.push(page)
    }
    const now = this.#clock.now()
    const isYoung = ({ lastVisit }: VisitedPage) => now - lastVisit < this.#expiresMs
    const [first, ...others] = missing.filter(isYoung)
    if (!first) return { missing, isCleared: false }
    // A page may have been visited again since the history was cleared. Then `#knownUntil` may be that visit.
    const isMost = others.length + 1 >= Math.max(fewestCleared, pages.filter(isYoung).length / 2)
    return { missing, isCleared: !(await this.#hasVisits((isMost ? first.lastVisit : this.#knownUntil) + 1)) }
  }

  /** True if the browser has probably expired the page itself: by age or, in a large Firefox history, as the oldest one. */
  async isExpired({ lastVisit }: Removed, now: number): Promise<boolean> {
    const limit = (await this.#expiresByNumber()) ? firefoxKeepsMs : this.#expiresMs
    // The last visit is not known. The page counts as expired if the browser still has visits older than `limit`.
    if (lastVisit === undefined) return this.#hasVisits(now - limit)
    const age = now - lastVisit
    if (age < limit || age > this.#expiresMs) return age > this.#expiresMs
    return !(await this.#hasVisits(lastVisit))
  }

  /** If the page was removed on another device, removes it from this browser, unless it was visited here since. */
  async applyRemoval(entry: PlaintextBookmark, removedAt: number | undefined): Promise<void> {
    const page = this.#pages.get(entry.id)
    if (!page || removedAt === undefined) return
    const isVisitedSince = page.lastVisit > removedAt
    if (isVisitedSince && !page.hasParts) return
    if (!isVisitedSince) this.set(entry.id, null)
    for (const url of await this.#addressesOf(page)) {
      const times = await this.#timesOf(url)
      if (times.length === 0 || times.some((time) => time > removedAt)) continue
      this.#removedHere.add(url)
      await this.#history.deleteUrl({ url })
    }
  }

  /** When the browser has visits of the page (Unix ms), under any of its addresses. */
  async timesOf(page: VisitedPage): Promise<number[]> {
    const times = (await this.#addressesOf(page)).map((url) => this.#timesOf(url))
    return (await Promise.all(times)).flat()
  }

  /**
   * Adds other devices' visits to the browser if they are later than `from` (Unix ms). Those of a device whose clock is
   * ahead follow in a later call.
   */
  async write(entry: PlaintextBookmark, page: VisitedPage, from: number): Promise<void> {
    const { title, visits = [] } = entry
    const { id, url, had = [] } = page
    const there = new Set([...had, ...(await this.timesOf(page))])
    const times = visits.map((visit) => Date.parse(visit))
    for (const time of times) {
      if (!(time > from && time <= this.#clock.now())) continue
      if (!there.has(time)) {
        await this.#history.addUrl({ url, visitTime: time, ...(title && { title: readable(title) }) })
        // The browser may accept a visit without storing it.
        if ((await this.#timesOf(url)).length === 0) continue
      }
      this.remember(id, url, [time])
    }
    const isWhole = times.every((time) => time <= this.#clock.now())
    this.set(id, { ...(this.#pages.get(id) ?? page), written: isWhole ? stateOf(entry) : undefined })
  }

  get #expiresMs(): number {
    return this.isFirefox ? firefoxExpiresMs : chromeExpiresMs
  }

  /** Searches only once, because Firefox reports each page that it expires, and the search is slow if there are many. */
  async #expiresByNumber(): Promise<boolean> {
    if (!this.isFirefox) return false
    const query = { text: '', startTime: 0, endTime: this.#clock.now(), maxResults: fewestToExpire }
    this.#isLarge ??= (await this.#history.search(query)).length === fewestToExpire
    return this.#isLarge
  }

  async #hasVisits(until: number): Promise<boolean> {
    return (await this.#history.search({ text: '', startTime: 0, endTime: until, maxResults: 1 })).length > 0
  }

  async #timesOf(url: string): Promise<number[]> {
    return (await this.#history.getVisits({ url })).map(({ visitTime = 0 }) => Math.floor(visitTime))
  }

  /** The addresses of a page: the browser lists each fragment separately. */
  async #addressesOf({ url, hasParts }: VisitedPage): Promise<string[]> {
    if (!hasParts) return [url]
    const query = { text: url, startTime: 0, endTime: this.#clock.now(), maxResults: mostAtOnce }
    const named = (await this.#history.search(query)).map(({ url = '' }) => url)
    return [...new Set([url, ...named.filter((one) => storedAddress(one) === url)])]
  }
}

/** Differs after each change of the visits: their number alone may be the same again after a removal. */
export function stateOf({ visitCount, dateVisited, dateModified }: PlaintextBookmark): string {
  return [visitCount, dateVisited, dateModified].join()
}

/** The latest times, each once, up to the number that an entry keeps. */
function latest(times: readonly number[]): number[] {
  return [...new Set(times)].sort((one, other) => other - one).slice(0, mostVisits)
}
