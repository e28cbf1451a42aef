import { Database, endOf, resultOf } from '../../client/database.ts'

/** A page with an entry, and what this browser's history has of it. */
export interface VisitedPage {
  /** The id of its entry. */
  id: string
  url: string
  /** Its last visit in this browser (Unix ms). */
  lastVisit: number
  /** The entry's `visitCount` when its visits were last written to the browser. */
  written?: number | undefined
  /** Firefox only: the times (Unix ms) of its latest visits, also of those that its person has removed since. */
  had?: readonly number[] | undefined
  /** True if it was visited under addresses with fragments, too. */
  hasParts?: true | undefined
  /** True if the browser's history does not have it: it never did, or it has removed it because of its age. */
  isGone?: true | undefined
}

/** A part of time, from and before (Unix ms); the last one may have no end yet. */
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

/** The progress of this device. */
export interface VisitState extends VisitSettings {
  /** The times whose visits are not stored yet, the earliest first. */
  spans: readonly Span[]
  /** The times whose visits are never stored: it was paused, or off. */
  pauses: readonly Span[]
  /** When entries were stored last (Unix ms). */
  storedAt: number
  /** When entries that are too old were last deleted (Unix ms). */
  deletedAt: number
  /** When the service last had no room for an entry (Unix ms). */
  refusedAt?: number | undefined
  /** While it is paused: until when (Unix ms), or Infinity. */
  pausedUntil?: number | undefined
  /** Pages that a person has removed, and when (Unix ms), by their entries' ids: to be passed on. */
  removed: Readonly<Record<string, number>>
  /** When the whole history was removed (Unix ms), while the person has not said whether on other devices too. */
  clearedAt?: number | undefined
  /** Earlier visits (Unix ms) are not written to this browser: its person has removed its whole history then. */
  writtenFrom?: number | undefined
}

/** Keeps on this device what it knows of its browser's history. */
export interface VisitStore {
  load(): Promise<{ state: VisitState | undefined; pages: VisitedPage[] }>
  /** Writes all or nothing. */
  write(state: VisitState, pages: ReadonlyMap<string, VisitedPage | null>): Promise<void>
  /** Forgets the pages, but not what must not be stored later: the sites that are left out, and the times until it is on again. */
  turnOff(now: number): Promise<void>
  wipe(): Promise<void>
}

/** The state once it is turned off: the browser is not given again what it was given before. */
export function turnedOffAt(state: VisitState, now: number): VisitState {
  return { ...endedAt(state, now), writtenFrom: now }
}

/** The state with nothing to be stored from now on. */
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
