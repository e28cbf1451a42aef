/** The part of the browser's history API that is used: `chrome.history`, or `browser.history` in Firefox. */

export interface HistoryPage {
  url?: string | undefined
  title?: string | undefined
  /** Unix ms; Chrome adds fractions. */
  lastVisitTime?: number | undefined
}

export interface PageVisit {
  /** Unix ms; Chrome adds fractions. */
  visitTime?: number | undefined
  transition: string
  /** Chrome 115 and later: false if Chrome's own sync has brought it from another device. */
  isLocal?: boolean | undefined
}

/** Pages that have no visit left, or all pages (`allHistory`). */
export interface RemovedPages {
  allHistory: boolean
  urls?: string[] | undefined
}

type HistoryEvent<News> = { addListener(listener: (news: News) => void): void }

/** `chrome.history`, which exists only while the extension has the permission. */
export interface HistoryApi {
  /** Pages with a visit between these times (Unix ms), those with the latest visit first. */
  search(query: { text: string; startTime: number; endTime: number; maxResults: number }): Promise<HistoryPage[]>
  getVisits(page: { url: string }): Promise<PageVisit[]>
  /** Chrome accepts only the address, and gives the visit the present time. */
  addUrl(visit: { url: string; title?: string; visitTime?: number }): Promise<void>
  deleteUrl(page: { url: string }): Promise<void>
  onVisited: HistoryEvent<HistoryPage>
  onVisitRemoved: HistoryEvent<RemovedPages>
  /** Firefox only. */
  onTitleChanged?: HistoryEvent<HistoryPage>
}
