import type { Role } from '../../client/bookmark-file/marks.ts'
import type { SyncExplanation, SyncStatus } from '../../client/index.ts'
import type { Saved, SavedGroup } from '../groups/tab-groups.ts'
import type { TabGroupsApi, TabsApi, WindowsApi } from '../groups/tabs-api.ts'
import type { BookmarksApi, BrowserSyncStatus, CookiesApi, Copy, Refused, SessionStorageApi } from '../index.ts'
import type { FoundPage } from '../visits/find.ts'
import type { HistoryApi } from '../visits/history-api.ts'
import type { VisitSettings } from '../visits/visit-store.ts'
import type { VisitsStatus } from '../visits/visits.ts'

/** The parts of `chrome` that the extension uses, also in Firefox. */
export interface Platform {
  bookmarks: BookmarksApi
  cookies: CookiesApi
  alarms: {
    create(name: string, info: { periodInMinutes: number } | { when: number }): void
    get(name: string): Promise<unknown>
    onAlarm: { addListener(listener: () => void): void }
  }
  action: {
    setBadgeText(badge: { text: string }): Promise<void>
    setBadgeBackgroundColor(badge: { color: string }): Promise<void>
  }
  permissions: {
    request(asked: AskedPermissions): Promise<boolean>
    contains(asked: AskedPermissions): Promise<boolean>
    remove(given: AskedPermissions): Promise<boolean>
    onAdded: { addListener(listener: () => void): void }
    onRemoved: { addListener(listener: () => void): void }
  }
  /** Chrome only. */
  offscreen?: {
    createDocument(page: { url: string; reasons: readonly ['DOM_PARSER']; justification: string }): Promise<void>
    closeDocument(): Promise<void>
  }
  i18n: { getMessage(name: string, values: string[]): string }
  runtime: {
    getURL(path: string): string
    getPlatformInfo(): Promise<unknown>
    /** Firefox only. */
    getBrowserInfo?(): Promise<unknown>
    openOptionsPage(): void
    sendMessage(question: Question): Promise<Answer>
    onStartup: { addListener(listener: () => void): void }
    onSuspend: { addListener(listener: () => void): void }
    onInstalled: { addListener(listener: (details: { reason: string }) => void): void }
    onMessage: {
      addListener(listener: (question: Question, sender: object, respond: (answer: Answer) => void) => boolean): void
    }
  }
  storage: {
    session: SessionStorageApi
    local: {
      get(names: string[]): Promise<Record<string, unknown>>
      set(values: Record<string, unknown>): Promise<void>
      remove(names: string | string[]): Promise<void>
    }
  }
  /** Undefined until the person has turned the browsing history on. */
  history?: HistoryApi
  /** Undefined in Firefox for Android. */
  omnibox?: {
    setDefaultSuggestion(suggestion: { description: string }): void
    onInputStarted: { addListener(listener: () => void): void }
    onInputChanged: {
      addListener(listener: (typed: string, suggest: (suggestions: Suggestion[]) => void) => void): void
    }
    onInputEntered: { addListener(listener: (typed: string, where: string) => void): void }
  }
  /** `update` without an id changes the current tab. */
  tabs: TabsApi & { update(changes: { url: string }): Promise<unknown> }
  /** Undefined until the person has turned tab groups on, and in a browser without them. */
  tabGroups?: TabGroupsApi
  windows: WindowsApi
}

interface AskedPermissions {
  origins?: string[]
  permissions?: string[]
  /** Firefox only. */
  data_collection?: string[]
}

/** A line that the address bar offers. */
interface Suggestion {
  content: string
  description: string
}

declare const chrome: Platform

export const platform: Platform = chrome

/** A message from a page to the worker. */
export type Question =
  | { ask: 'state' | 'start' | 'sync-now' | 'pause' | 'resume' | 'retry' | 'explain' }
  | { ask: 'held' }
  | { ask: 'decide'; side: 'browser' | 'devices'; deletes: boolean; ids: string[] }
  | { ask: 'decide-copies'; ids: string[]; areOne: boolean }
  | { ask: 'resolve'; conflict: ShownConflict; choice: 'mine' | 'theirs' }
  | { ask: 'leave-out' | 'take-in'; browserId: string }
  | { ask: 'sign-out'; discardUnsent: boolean }
  /** Sent by the worker to `titles.ts`. */
  | { ask: 'title'; url: string }
  | { ask: 'visits'; act?: VisitAct }
  | { ask: 'groups'; act?: GroupAct }

/** A user action about the browsing history. */
export type VisitAct =
  | { do: 'turn-on' | 'resume' }
  | { do: 'turn-off'; erases: boolean }
  | { do: 'pause'; forHours?: number }
  | ({ do: 'change' } & VisitSettings)
  | { do: 'answer-cleared'; everywhere: boolean }
  | { do: 'find'; words: string }

/** The state of the browsing history, and the pages found if the question was a search. */
export interface ShownVisits extends VisitsStatus {
  pages?: FoundPage[]
}

/** A user action about tab groups. */
export type GroupAct =
  | { do: 'save'; what: Saved; title: string }
  | { do: 'rename'; id: string; title: string }
  /** `most`: the number of tabs that the person expects */
  | { do: 'open'; id: string; inNewWindow: boolean; most: number }
  | { do: 'open-tab' | 'follow' | 'close' | 'update' | 'keep' | 'remove'; id: string }

/** The saved tab groups, tabs that could not be stored, and what the last action could not open. */
export interface ShownGroups {
  list: SavedGroup[]
  /** Titles of tabs that are too large to store. */
  refused: string[]
  /** Addresses that the browser refused to open. */
  failed: string[]
  /** True if the group was not opened, because it has more tabs than the person expects. */
  isTooLarge: boolean
}

/** The parts of a conflict that a page shows. */
interface ShownConflict {
  id: string
  mine: string
  theirs: string
}

/**
 * Why the sync has stopped:
 * - `full`: this device has no space left
 * - `newer`: a newer version of the extension has written the stored data
 * - `blocked`: another page of the extension keeps the storage from opening; `other`: see `message`
 */
export interface Fault {
  kind: 'full' | 'newer' | 'blocked' | 'other'
  message: string
}

export interface WorkerState {
  /**
   * - `new`: nobody has signed in here yet
   * - `locked`: the user must sign in, or type the passphrase
   * - `failed`: the stored data could not be opened, or a later step failed (`fault`)
   */
  setup: 'new' | 'locked' | 'failed' | 'ready'
  fault?: Fault
  /** The server's address, if the extension has no permission for it. */
  forbidden?: string
  isPaused: boolean
  sync: SyncStatus | null
  browser: Omit<BrowserSyncStatus, 'error' | 'refused'> | null
  refused: Refused[]
  conflicts: ShownConflict[]
  leftOut: string[]
  /** The browser's own folders that are kept in step, by role. */
  roots: [Role, string][]
}

/** Deletes that wait for the user's answer, made in this browser or on other devices. */
export type Held = Record<'browser' | 'devices', { id: string; title: string }[]>

/** A report for bug reports: no titles, addresses or keys, and nothing that identifies the user. */
export interface Explained extends Pick<WorkerState, 'setup' | 'isPaused' | 'browser'> {
  fault: Fault['kind'] | null
  /** The number of folders that stay out, and of bookmarks that were refused. */
  leftOut: number
  refused: number
  sync: SyncExplanation | SyncStatus | null
}

export interface Answer {
  state?: WorkerState
  explained?: Explained
  held?: Held
  copies?: Copy[]
  /** Undefined while the browsing history is off, and in answers to questions that do not concern it. */
  visits?: ShownVisits | undefined
  /** After the history was turned off and erased: true if the service has not deleted all of it yet. */
  isErasureUnsent?: boolean
  /** Undefined while tab groups are off, and in answers to other questions. */
  groups?: ShownGroups | undefined
  title?: string
  error?: { name: string; message: string }
}
