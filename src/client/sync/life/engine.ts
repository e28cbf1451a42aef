import type { Keys } from '../../crypto/keys.ts'
import { StoreVersionError } from '../../errors.ts'
import type { Clock } from '../../timing/clock.ts'
import { Alarm } from '../../timing/clock.ts'
import type { EditParts } from '../edits/edit.ts'
import type { ExchangeParts } from '../exchange/exchange.ts'
import { Outbox } from '../exchange/outbox.ts'
import { Progress } from '../exchange/progress.ts'
import { Emitter } from '../store/emitter.ts'
import { Replica } from '../store/replica.ts'
import type { Store } from '../store/store.ts'
import type { Tabs } from '../store/tabs.ts'
import { Selections } from '../view/selections.ts'
import { TreeCache } from '../view/tree-cache.ts'
import { StatusBoard } from './status.ts'

interface EngineOptions {
  keys: Keys
  userId: string
  /** The app's. */
  deviceId: string
  store: Store
  tabs: Tabs
  clock: Clock
  /** Returns a number from 0 up to, but not including, 1. */
  random: () => number
}

/** All parts of a sync. Functions that use only some of them say so in their parameter's type. */
export interface Engine extends EditParts, Omit<ExchangeParts, 'transport'> {
  readonly emitter: Emitter
  readonly status: StatusBoard
  readonly selections: Selections
  readonly tree: TreeCache
  readonly random: () => number
  /** Rings when trying the network again is worthwhile. */
  readonly network: Alarm
  /** Rings when the platform reports that there is no network. */
  readonly disconnected: Alarm
}

export function createEngine({ store, ...options }: EngineOptions): Engine {
  const { userId, deviceId, tabs, clock } = options
  const emitter = new Emitter()
  const outbox = new Outbox()
  const selections = new Selections(emitter)
  const onChange = () => {
    status.refresh()
    selections.refresh()
  }
  const tree = new TreeCache()
  const replica = new Replica({ userId, store, tabs, emitter, tree, onChange, onEdit: () => outbox.ring() })
  const status = new StatusBoard(replica, emitter, tabs, clock)
  store.onOutdated?.(() => status.fail(new StoreVersionError()))
  return {
    ...options,
    get deviceId() {
      return replica.meta.deviceIds?.[deviceId] ?? deviceId
    },
    replica,
    recentDeletes: [],
    outbox,
    progress: new Progress((progress) => status.show(progress)),
    emitter,
    status,
    selections,
    tree,
    network: new Alarm(),
    disconnected: new Alarm(),
  }
}
