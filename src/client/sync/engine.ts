import type { Keys } from '../keys.ts'
import { Alarm } from './alarm.ts'
import type { Clock } from './clock.ts'
import { withDeadlines } from './deadlines.ts'
import { Emitter } from './emitter.ts'
import { Replica } from './replica.ts'
import { StatusBoard } from './status.ts'
import type { Store } from './store.ts'
import type { Tabs } from './tabs.ts'
import type { Transport } from './transport.ts'

export interface EngineParts {
  transport: Transport
  keys: Keys
  userId: string
  deviceId: string
  store: Store
  tabs: Tabs
  clock: Clock
  /** From 0 to below 1. */
  random: () => number
}

/** What the parts of the engine work on. */
export interface Engine extends Omit<EngineParts, 'store'> {
  readonly replica: Replica
  readonly emitter: Emitter
  readonly status: StatusBoard
  /** Rings when something is to be sent. */
  readonly work: Alarm
  /** Rings when it is worth trying the network again. */
  readonly network: Alarm
  /** Rings when the platform says that there is no network. */
  readonly disconnected: Alarm
  /** The service refused a batch for what is in it: nothing is pushed until something changes. */
  isPushRefused: boolean
  /** When deletes of other devices were taken over without asking, lately (Unix ms). */
  recentDeletions: number[]
}

export function createEngine({ store, ...parts }: EngineParts): Engine {
  const emitter = new Emitter()
  const replica = new Replica({ userId: parts.userId, store, tabs: parts.tabs, emitter })
  return {
    ...parts,
    transport: withDeadlines(parts.transport, parts.clock),
    replica,
    emitter,
    status: new StatusBoard(replica, emitter, parts.tabs),
    work: new Alarm(),
    network: new Alarm(),
    disconnected: new Alarm(),
    isPushRefused: false,
    recentDeletions: [],
  }
}

/** This device's clock, set right by the service's (Unix ms). */
export function correctedNow({ clock, replica }: Pick<Engine, 'clock' | 'replica'>): number {
  return clock.now() + replica.meta.clockOffset
}
