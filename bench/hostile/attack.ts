import type { Context } from '../../src/service/context.ts'
import type { atLimits, FilledAccount, Person } from './accounts.ts'

export interface AttackTarget {
  port: number
  /** The service's process. */
  pid: number
  attacker: Person
  /** Other accounts of the attacker. */
  accomplices: Person[]
  /** The attacker's, if it is filled. */
  account: FilledAccount | undefined
}

export type Kind = keyof typeof atLimits

/** One caller's load on the service, which is bounded, with an ordinary account or none. */
export interface Attack {
  needsPostgres?: boolean
  /** For the service. */
  settings?: Record<string, string>
  /** How many descriptors the service may have open. */
  files?: number
  /** How many more accounts the attacker has. */
  accomplices?: number
  /** Stores the data of each of the attacker's accounts before the service starts. */
  seed?(context: Context, attacker: Person): Promise<void>
  /** At which limits the attacker's account is, if it is at any. */
  account?: Kind
  /** Begins the attack, in a process of its own that is killed when the time is over. */
  run?(target: AttackTarget): Promise<void> | void
  /** One after the other, instead: each resolves to what became of it. */
  stages?: ((target: AttackTarget) => Promise<string>)[]
  /** After the end of the service: why the row proves nothing. */
  complaint?(context: Context): Promise<string | undefined>
}
