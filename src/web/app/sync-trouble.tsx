import { ConflictNotice } from '../conflicts/count.tsx'
import { HeldDeletions } from '../conflicts/held-deletions.tsx'
import { Refused } from '../conflicts/refused.tsx'

/** What waits for the person, above every view. */
export function SyncTrouble() {
  return (
    <>
      <HeldDeletions />
      <Refused />
      <ConflictNotice />
    </>
  )
}
