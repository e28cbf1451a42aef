import type { HistoryApi, HistoryPage, PageVisit, RemovedPages } from '../../src/extension/visits/history-api.ts'
import type { Flavour } from './browser-model.ts'

interface Visit extends PageVisit {
  visitTime: number
  /** A redirect or a frame, which the browser does not list. */
  isHidden?: boolean
}

/** A visit that a test makes. Without a time, it is made now. */
type NewVisit = Partial<Visit> & { title?: string; isPrivate?: boolean }

/** A browser's history in memory, with the differences between Chrome and Firefox. */
export class HistoryModel {
  readonly flavour: Flavour
  /** How far the time in the test is ahead of this machine's clock (ms). */
  ahead = 0
  /** How far the browser's clock is ahead of the time in the test (ms). */
  wrong = 0
  /** True if the browser stores no visits of an extension, without an error. */
  isForgetful = false
  /** An address that the browser does not accept from an extension. */
  refused = ''
  readonly pages = new Map<string, { title: string; visits: Visit[] }>()
  #onVisited: (page: HistoryPage) => void = () => {}
  #onRemoved: (news: RemovedPages) => void = () => {}

  constructor(flavour: Flavour) {
    this.flavour = flavour
  }

  now(): number {
    return Date.now() + this.ahead + this.wrong
  }

  /** @param visit a visit in a private window is neither stored nor reported */
  visit(url: string, { title = '', isPrivate, ...visit }: NewVisit = {}): number {
    const visitTime = visit.visitTime ?? this.now() + (this.flavour === 'chrome' ? 0.123 : 0)
    if (isPrivate) return visitTime
    const page = this.pages.get(url) ?? { title, visits: [] }
    if (title) page.title = title
    page.visits.push({ transition: 'link', ...visit, visitTime })
    this.pages.set(url, page)
    this.#onVisited({ url, title: page.title, lastVisitTime: visitTime })
    return visitTime
  }

  /** The user removes a page from the list of the history. */
  remove(...urls: string[]): void {
    const there = urls.filter((url) => this.pages.delete(url))
    if (there.length > 0) this.#tell(there)
  }

  /** Removes visits as by “Clear the last hour”, or by age. A page that has a visit left is not reported. */
  removeRange(from: number, to: number): void {
    const gone: string[] = []
    for (const [url, page] of this.pages) {
      page.visits = page.visits.filter(({ visitTime }) => visitTime < from || visitTime > to)
      if (page.visits.length === 0) gone.push(url)
    }
    for (const url of gone) this.pages.delete(url)
    if (gone.length > 0) this.#tell(gone)
  }

  clear(): void {
    this.pages.clear()
    this.#onRemoved({ allHistory: true, urls: [] })
  }

  /** Chrome has one event for a range, Firefox one for each page. */
  #tell(urls: string[]): void {
    if (this.flavour === 'chrome') this.#onRemoved({ allHistory: false, urls })
    else for (const url of urls) this.#onRemoved({ allHistory: false, urls: [url] })
  }

  /** Every call takes effect at once, and returns through `gate`. */
  api(gate: <T>(call: () => T) => Promise<T> = async (call) => call()): HistoryApi {
    const isVisible = ({ isHidden, transition }: Visit) => !isHidden && !transition.endsWith('_subframe')
    return {
      search: ({ text, startTime, endTime, maxResults }) =>
        gate(() => {
          const named = [...this.pages].filter(([url]) => decodeURI(url).includes(text))
          const found = named.flatMap(([url, { title, visits }]) => {
            const times = visits.filter(isVisible).map(({ visitTime }) => visitTime)
            const inTime = times.filter((time) => time >= startTime && time <= endTime)
            return inTime.length > 0 ? [{ url, title, lastVisitTime: Math.max(...inTime) }] : []
          })
          return found.sort((one, other) => other.lastVisitTime - one.lastVisitTime).slice(0, maxResults)
        }),
      getVisits: ({ url }) => gate(() => structuredClone(this.pages.get(url)?.visits ?? [])),
      addUrl: ({ url, title, visitTime }) =>
        gate(() => {
          if (this.isForgetful) return
          if (url === this.refused || !/^https?:/.test(url)) throw new Error('No items were added to history.')
          // Chrome accepts neither a title nor a time.
          const details = this.flavour === 'firefox' ? { ...(title && { title }), ...(visitTime && { visitTime }) } : {}
          this.visit(url, details)
        }),
      deleteUrl: ({ url }) => gate(() => this.remove(url)),
      onVisited: { addListener: (listener) => (this.#onVisited = listener) },
      onVisitRemoved: { addListener: (listener) => (this.#onRemoved = listener) },
      ...(this.flavour === 'firefox' && { onTitleChanged: { addListener() {} } }),
    }
  }
}
