import type { PlaintextBookmark, SyncStatus } from '../../../src/client/index.ts'

/** What the page, or the test in its place, asks of the worker. */
export type Question = { ask: 'start' } | { ask: 'put'; bookmark: PlaintextBookmark } | { ask: 'state' }

/** What the worker answers. */
export interface WorkerState {
  /** Drawn anew whenever the browser starts the worker. */
  life: string
  status: SyncStatus | null
  titles: string[]
  /** The WebSockets of this life, by the types of the messages that came over them. */
  sockets: string[][]
}
