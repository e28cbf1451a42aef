import { useSync, useSyncStatus } from '../../client/react.ts'
import { Button } from '../ui/button.tsx'

/** Another device has deleted many of the bookmarks. That may be a mistake, so it waits for confirmation. */
export function HeldDeletions() {
  const { heldDeletions: held } = useSyncStatus()
  const sync = useSync()
  if (!held) return null
  return (
    <section class="panel" aria-label="Deleted on another device">
      <p role="status">
        Another device deleted {held.count} of your {held.of} bookmarks.
      </p>
      <div class="bar">
        <Button onClick={() => sync.approveDeletions(held.count)}>Delete them here too</Button>
        <Button onClick={() => sync.rejectDeletions()}>Keep them everywhere</Button>
      </div>
    </section>
  )
}
