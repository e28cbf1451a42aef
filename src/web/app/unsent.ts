import type { SyncStatus } from '../../client/index.ts'

/** How many edits are still to be sent. Those that the service has refused wait for the person. */
export function unsentOf({ waiting, quarantined = 0 }: SyncStatus): number {
  return waiting - quarantined
}
