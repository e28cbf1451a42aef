import type { SyncStatus } from '../../client/index.ts'
import type { BrowserSyncStatus, Refused } from '../index.ts'

/** What a page asks of the worker. */
export type Question =
  | { ask: 'state' | 'start' | 'sync-now' | 'pause' | 'resume' | 'retry' }
  | { ask: 'held' }
  | { ask: 'decide'; side: 'browser' | 'devices'; deletes: boolean; ids: string[] }
  | { ask: 'resolve'; id: string; choice: 'mine' | 'theirs' }
  | { ask: 'leave-out' | 'take-in'; browserId: string }
  | { ask: 'sign-out'; discardUnsent: boolean }

/** A conflict, as far as a page shows it. */
interface ShownConflict {
  id: string
  mine: string
  theirs: string
}

export interface WorkerState {
  /** `new`: no server has been chosen; `locked`: the user must sign in, or type the passphrase */
  setup: 'new' | 'locked' | 'ready'
  isPaused: boolean
  sync: SyncStatus | null
  browser: (Omit<BrowserSyncStatus, 'error' | 'refused'> & { error?: string }) | null
  refused: Refused[]
  conflicts: ShownConflict[]
  leftOut: string[]
}

/** What is to be deleted, and was held back. */
export type Held = Record<'browser' | 'devices', { id: string; title: string }[]>

export interface Answer {
  state?: WorkerState
  held?: Held
  error?: { name: string; message: string }
}
