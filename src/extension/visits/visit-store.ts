import { Database, endOf, resultOf } from '../../client/database.ts'

/** A page, and this browser's history of it. The page's record in the synced history is called its entry. */
export interface VisitedPage {
  id: string
  url: string
  /** Its last visit in this browser (Unix ms). */
  lastVisit: number
  /** The entry's state (`stateOf`) when all other devices' visits were last written to this browser. */
  written?: string | undefined
  /** Firefox only: the times (Unix ms) of its latest visits, including those that the person has removed since. */
  had?: readonly number[] | undefined
  /** True if it was also visited under addresses with fragments. */
  hasParts?: true | undefined
  /** True if the browser's history lacked it when this device looked for it, or if the page has expired since. */
  isGone?: true | undefined
}

/** A period (Unix ms): `from` is included, `to` is not. The last one may have no end yet. */
export interface Span {
  from: number
  to?: number | undefined
}

/** The settings of this device. */
export interface VisitSettings {
  /** After this many days without a visit, an entry is deleted. */
  keptDays: number
  /** Host names of sites whose visits are not stored. */
  sites: readonly string[]
}

/** This device's progress in storing visits. */
export interface VisitState extends VisitSettings {
  /** The periods whose visits are not stored yet, the earliest first. */
  spans: readonly Span[]
  /** The periods whose visits are never stored, because storing was paused or off. */
  pauses: readonly Span[]
  /** When entries were last stored or deleted (Unix ms). 0: the next round need not wait. */
  storedAt: number
  /** True if they were stored because the browser seemed to be closing. Then nothing more is stored for a minute. */
  wasLast?: boolean | undefined
  /** When entries that are too old were last looked for and deleted (Unix ms). */
  deletedAt: number
  /** When the service last had no room for an entry (Unix ms). */
  refusedAt?: number | undefined
  /** When the whole history was last erased, on any device, as far as this one has handled that (Unix ms, the service's). */
  erasedAt?: number | undefined
  /** True if the history was turned off, and has not started since. */
  isOff?: true | undefined
  /** The end of the pause (Unix ms), or Infinity. Undefined if storing is not paused. */
  pausedUntil?: number | undefined
  /** When the person removed a page (Unix ms), by its entry's id, until a round stores that in the entry. */
  removed: Readonly<Record<string, number>>
  /** When the whole history was removed (Unix ms), until the person decides whether other devices remove it, too. */
  clearedAt?: number | undefined
  /** Earlier visits (Unix ms) are not written to this browser: its history was cleared then, or storing turned off. */
  writtenFrom?: number | undefined
}

/** Stores what this device knows of its browser's history. */
export interface VisitStore {
  load(): Promise<{ state: VisitState | undefined; pages: VisitedPage[] }>
  /** Writes all or nothing. */
  write(state: VisitState, pages: ReadonlyMap<string, VisitedPage | null>): Promise<void>
  /** Forgets the pages. Keeps the rest, such as excluded sites and periods that must never be stored. May be repeated. */
  turnOff(now: number): Promise<void>
  wipe(): Promise<void>
}

/** The state after the history was turned off. Visits before `now` will not be written to the browser again. */
export function turnedOffAt(state: VisitState, now: number): VisitState {
  return state.isOff ? state : { ...endedAt(state, now), writtenFrom: now, isOff: true }
}

/** The state in which visits from `now` on are not stored, until storing is resumed. */
export function endedAt<State extends Pick<VisitState, 'spans' | 'pauses'>>(state: State, now: number): State {
  const { spans, pauses } = state
  if (pauses.some(({ to }) => to === undefined)) return state
  return { ...state, spans: spans.map(({ from, to = now }) => ({ from, to })), pauses: [...pauses, { from: now }] }
}

export function indexedDbVisitStore(userId: string): VisitStore {
  const database = new Database(`encrypted-bookmark-sync-visits-${userId}`, {
    async upgrade(created) {
      created.createObjectStore('state')
      created.createObjectStore('pages')
    },
  })
  return {
    load: () =>
      database.use(async (connection) => {
        const transaction = connection.transaction(['state', 'pages'])
        const [state, pages] = await Promise.all([
          resultOf<VisitState | undefined>(transaction.objectStore('state').get('state')),
          resultOf<VisitedPage[]>(transaction.objectStore('pages').getAll()),
        ])
        return { state, pages }
      }),
    write: (state, pages) =>
      database.use(async (connection) => {
        const transaction = connection.transaction(['state', 'pages'], 'readwrite')
        transaction.objectStore('state').put(state, 'state')
        const store = transaction.objectStore('pages')
        for (const [id, page] of pages) {
          if (page) store.put(page, id)
          else store.delete(id)
        }
        await endOf(transaction)
      }),
    turnOff: (now) =>
      database.use(async (connection) => {
        const transaction = connection.transaction(['state', 'pages'], 'readwrite')
        const states = transaction.objectStore('state')
        const state = await resultOf<VisitState | undefined>(states.get('state'))
        if (state) states.put(turnedOffAt(state, now), 'state')
        transaction.objectStore('pages').clear()
        await endOf(transaction)
      }),
    wipe: () => database.delete(),
  }
}
