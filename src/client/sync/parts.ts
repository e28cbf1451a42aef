import type { Keys } from '../crypto/keys.ts'
import type { Alarm, Clock } from '../timing/clock.ts'
import type { Outbox } from './exchange/outbox.ts'
import type { Progress } from './exchange/progress.ts'
import type { Transport } from './exchange/transport.ts'
import type { StatusBoard } from './life/status.ts'
import type { Emitter } from './store/emitter.ts'
import type { Replica } from './store/replica.ts'
import type { Row } from './store/store.ts'
import type { Tabs } from './store/tabs.ts'
import type { Selections } from './view/selections.ts'
import type { TreeCache } from './view/tree-cache.ts'

/** All parts of a sync. */
export interface Engine {
  readonly keys: Keys
  readonly userId: string
  /** Under which edits are made now. */
  readonly deviceId: string
  readonly tabs: Tabs
  readonly clock: Clock
  /** Returns a number from 0 up to, but not including, 1. */
  readonly random: () => number
  readonly replica: Replica
  /** The rows of the latest deletes that were applied without asking, or rejected, as they were held, and when (Unix ms). */
  readonly recentDeletes: [row: Row, time: number][]
  readonly outbox: Outbox
  readonly progress: Progress
  readonly emitter: Emitter
  readonly status: StatusBoard
  readonly selections: Selections
  readonly tree: TreeCache
  /** Rings when trying the network again is worthwhile. */
  readonly network: Alarm
  /** Rings when the platform reports that there is no network. */
  readonly disconnected: Alarm
}

/** An engine with a way to the service. */
export interface Connected extends Engine {
  readonly transport: Transport
  /** Ends what is under way. */
  readonly signal: AbortSignal
}
