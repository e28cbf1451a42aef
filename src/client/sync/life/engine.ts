import { StoreVersionError } from '../../errors.ts'
import { Alarm } from '../../timing/clock.ts'
import { Outbox } from '../exchange/outbox.ts'
import { Progress } from '../exchange/progress.ts'
import type { Engine } from '../parts.ts'
import { Emitter } from '../store/emitter.ts'
import { Replica } from '../store/replica.ts'
import type { Store } from '../store/store.ts'
import { Selections } from '../view/selections.ts'
import { TreeCache } from '../view/tree-cache.ts'
import { StatusBoard } from './status.ts'

type EngineOptions = Pick<Engine, 'keys' | 'userId' | 'deviceId' | 'tabs' | 'clock' | 'random'> & { store: Store }

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
  const status = new StatusBoard({ replica, emitter, tabs, clock })
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
