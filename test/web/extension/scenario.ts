import type { Service } from '../../support/service.ts'
import type { Account } from './elsewhere.ts'
import type { Expected } from './same.ts'
import type { User } from './user.ts'

/** Where a scenario happens: two browsers, a third device, and the service of all. */
export interface World {
  /** The title of the scenario's folder. */
  folder: string
  one: User
  two: User
  /** A device of the same person that is no browser. */
  elsewhere: Account
  /** Until all show the same, which is as expected. */
  same(expected: Expected): Promise<void>
  service(): Service
  /** Stops the service, does the work, and starts it again. Then both users press “Sync now” at once. */
  withoutService(work: () => Promise<unknown>): Promise<void>
  /** Restarts the service with these variables more; until the next restart. The browsers find it again by themselves. */
  restart(settings?: Record<string, string>): Promise<void>
  /** Runs a command of the operator, while the service does not run if it is `restore`. */
  operator: {
    backUp(): Promise<string>
    restore(backup: string): Promise<void>
  }
}

/** What happens, and what all are to show afterwards. Scenarios build on nothing that others have left. */
export interface Scenario {
  title: string
  run(world: World): Promise<Expected>
}

export function scenario(title: string, run: Scenario['run']): Scenario {
  return { title, run }
}
