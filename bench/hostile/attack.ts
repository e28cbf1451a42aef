import type { Context } from '../../src/service/context.ts'
import type { atLimits, FilledAccount, Person } from './accounts.ts'

export interface AttackTarget {
  port: number
  /** The process id of the service. */
  pid: number
  attacker: Person
  /** Other accounts of the attacker. */
  accomplices: Person[]
  /** The attacker's account, if it was filled before the attack. */
  account: FilledAccount | undefined
}

export type Kind = keyof typeof atLimits

/** A load on the service that must not slow down other users. The attacker has ordinary accounts, or uses none. */
export interface Attack {
  needsPostgres?: boolean
  /** Environment variables of the service. */
  settings?: Record<string, string>
  /** How many file descriptors the service may have open. */
  files?: number
  /** How many more accounts the attacker has. */
  accomplices?: number
  /** Stores data before the service starts; called for each of the attacker's accounts. */
  seed?(context: Context, attacker: Person): Promise<void>
  /** Fills the attacker's account up to these limits (`atLimits`), instead of calling `seed`. */
  account?: Kind
  /** Runs in a separate process, which is killed after 8 s (`attackMs`). */
  run?(target: AttackTarget): Promise<void> | void
  /** Used instead of `run`: stages run one after the other, and each resolves to a description of its result. */
  stages?: ((target: AttackTarget) => Promise<string>)[]
  /** Runs after the service has stopped. If the attack had no effect and so proves nothing, returns what is wrong. */
  complaint?(context: Context): Promise<string | undefined>
}
