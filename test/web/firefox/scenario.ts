import type { Sync } from '../../../src/client/index.ts'
import type { Service } from '../../support/service.ts'
import type { Installed } from './installed.ts'

/** Where a scenario happens: two browsers, a third device, and the service of all. */
interface World {
  one: Installed
  two: Installed
  /** A device of the same person that is no browser. */
  elsewhere: Sync
  /** Until both browsers have what the records say, which is as expected. */
  same(isExpected: (lines: string[]) => boolean): Promise<void>
  service(): Service
  /** Stops the service, does the work, and starts it again. */
  withoutService(work: () => Promise<unknown>): Promise<void>
}

/** What happens, and what all are to show afterwards. Each leaves its bookmarks to the next ones. */
interface Scenario {
  title: string
  run(world: World): Promise<void>
}

export function scenario(title: string, run: Scenario['run']): Scenario {
  return { title, run }
}

export const link = (title: string) => `https://example.org/${title}`
