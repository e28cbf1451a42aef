import type { EntityType } from '../bookmark.ts'
import type { Keys } from '../crypto/keys.ts'
import { StoreVersionError } from '../errors.ts'
import { Alarm, type Clock } from '../timing/clock.ts'
import type { ExchangeNote } from './exchange/journal.ts'
import type { Passage } from './exchange/passage.ts'
import type { Transport } from './exchange/transport.ts'
import { StatusBoard } from './life/status.ts'
import { Emitter } from './store/emitter.ts'
import { Replica } from './store/replica.ts'
import type { Row, Store } from './store/store.ts'
import type { Tabs } from './store/tabs.ts'
import { Selections } from './view/selections.ts'
import { TreeCache } from './view/tree-cache.ts'

/** The parts that the functions of a sync share. */
export interface Engine {
  readonly keys: Keys
  readonly userId: string
  /** The device id for new edits. */
  readonly deviceId: string
  readonly tabs: Tabs
  readonly clock: Clock
  /** Returns a number from 0 up to, but not including, 1. */
  readonly random: () => number
  readonly replica: Replica
  /**
   * The latest deletes by other devices that were applied without approval, or that the user rejected: each row as it was
   * before that, and the time (Unix ms, by the service's clock).
   */
  readonly recentDeletes: [row: Row, time: number][]
  /** The last exchanges of this tab, for `explain`; the newest last. */
  readonly notes: ExchangeNote[]
  readonly outbox: Outbox
  readonly emitter: Emitter
  readonly status: StatusBoard
  readonly selections: Selections
  readonly trees: Readonly<Record<'bookmark' | 'group', TreeCache>>
  /** Rings when the network may be back. */
  readonly network: Alarm
  /** Rings when the platform reports that there is no network. */
  readonly disconnected: Alarm
}

/** An engine with a connection to the service. */
export interface Connected extends Engine {
  readonly transport: Transport
  /** Aborts when the sync ends, or when the caller of this exchange or edit aborts. */
  readonly signal: AbortSignal
}

/** Rings when a tab may have queued an edit, and remembers whether sending is worthwhile. */
class Outbox extends Alarm {
  /** True after 100 refusals in a row: nothing is sent until an edit, `start` or `syncNow`. */
  isRefused = false
  /** True if edits that exceeded the quota or did not pass a proxy should be sent again. */
  triesAll = false
  /** Limits the size of pushes. Undefined until the first use of `passageOf`, whose code is not in an app's first bundle. */
  passage: Passage | undefined
  /** Rings at an edit or `syncNow` in any tab, and at `start` in this one: calls then stop waiting for `Retry-After`. */
  readonly hurry = new Alarm()

  /** Called by `start` and `syncNow`: the next push also tries what exceeded the quota or did not pass a proxy. */
  reopen(): void {
    this.isRefused = false
    this.triesAll = true
    this.endWaits()
  }

  /** Ends the calls' current waits for `Retry-After`, but not later ones. */
  endWaits(): void {
    this.hurry.ring()
    this.hurry.reset()
  }

  override ring(): void {
    this.isRefused = false
    this.endWaits()
    super.ring()
  }
}

interface EngineOptions extends Pick<Engine, 'keys' | 'userId' | 'deviceId' | 'tabs' | 'clock' | 'random'> {
  store: Store
  types: readonly EntityType[]
}

export function createEngine({ store, types, ...options }: EngineOptions): Engine {
  const { userId, deviceId, tabs, clock } = options
  const emitter = new Emitter()
  const outbox = new Outbox()
  const selections = new Selections(emitter)
  const onChange = () => {
    status.refresh()
    selections.refresh()
  }
  const trees = { bookmark: new TreeCache('bookmark'), group: new TreeCache('group') }
  const replica = new Replica({
    ...{ userId, types, store, tabs, emitter, onChange },
    trees: Object.values(trees),
    onEdit: () => outbox.ring(),
  })
  const status = new StatusBoard({ replica, emitter, tabs, clock })
  store.onOutdated?.(() => status.fail(new StoreVersionError()))
  return {
    ...options,
    get deviceId() {
      return replica.meta.deviceIds?.[deviceId] ?? deviceId
    },
    replica,
    recentDeletes: [],
    notes: [],
    outbox,
    emitter,
    status,
    selections,
    trees,
    network: new Alarm(),
    disconnected: new Alarm(),
  }
}
