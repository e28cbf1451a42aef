import { ConflictNotice } from '../conflicts/count.tsx'
import { HeldDeletions } from '../conflicts/held-deletions.tsx'
import { Refused } from '../conflicts/refused.tsx'
import { NewVersion } from '../offline/new-version.tsx'
import { ClockNotice } from './clock-notice.tsx'
import { Connection } from './connection.tsx'

/** What waits for the person, above every view. */
export function SyncTrouble() {
  return (
    <>
      <NewVersion />
      <Connection />
      <ClockNotice />
      <HeldDeletions />
      <Refused />
      <ConflictNotice />
    </>
  )
}
