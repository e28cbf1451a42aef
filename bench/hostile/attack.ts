import type { Context } from '../../src/service/context.ts'
import type { atLimits, FilledAccount, Person } from './accounts.ts'

export interface AttackTarget {
  port: number
  /** The process id of the service. */
  pid: number
  attacker: Person
  /** Other accounts of the attacker. */
  accomplices: Person[]
  /** The attacker's account, if it is filled. */
  account: FilledAccount | undefined
}

export type Kind = keyof typeof atLimits

/** A bounded load on the service, caused by one caller with an ordinary account or without any. */
export interface Attack {
  needsPostgres?: boolean
  /** Environment variables of the service. */
  settings?: Record<string, string>
  /** How many file descriptors the service may have open. */
  files?: number
  /** How many more accounts the attacker has. */
  accomplices?: number
  /** Stores the data of each of the attacker's accounts before the service starts. */
  seed?(context: Context, attacker: Person): Promise<void>
  /** The limits that the attacker's account has reached, if any. */
  account?: Kind
  /** Starts the attack in a separate process, which is killed when the time is over. */
  run?(target: AttackTarget): Promise<void> | void
  /** Used instead of `run`: stages run one after the other, and each resolves to a description of its result. */
  stages?: ((target: AttackTarget) => Promise<string>)[]
  /** Runs after the service has stopped. Returns why the row proves nothing. */
  complaint?(context: Context): Promise<string | undefined>
}
