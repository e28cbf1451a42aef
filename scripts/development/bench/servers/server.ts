import type { Account } from '../worker/apis/api.ts'

/** A server in a process of its own. */
export interface Server {
  pid: number
  origin: string
  /** Somebody who has nothing yet. */
  newUser(): Promise<Account>
  close(): Promise<void>
}
