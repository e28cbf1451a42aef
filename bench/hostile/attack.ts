import type { Context } from '../../src/service/context.ts'

export interface Person {
  userId: string
  loginId: string
  session: string
}

export interface AttackTarget {
  port: number
  /** The service's process. */
  pid: number
  attacker: Person
}

/** One caller's load on the service, which is bounded, with an ordinary account or none. */
export interface Attack {
  needsPostgres?: boolean
  /** For the service. */
  settings?: Record<string, string>
  /** How many descriptors the service may have open. */
  files?: number
  /** Stores the attacker's data before the service starts. */
  seed?(context: Context, attacker: Person): Promise<void>
  /** Begins the attack, in a process of its own that is killed when the time is over. */
  run(target: AttackTarget): Promise<void> | void
  /** After the end of the service: why the row proves nothing. */
  complaint?(context: Context): Promise<string | undefined>
}
