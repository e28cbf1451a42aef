import { OfflineError, StorageFullError } from '../../client/index.ts'
import { Front } from '../sign-in/front.tsx'
import { Button } from '../ui/button.tsx'
import { isOutdated, messageOf } from '../ui/failure.ts'

/** Why the page could not open the bookmarks, and the way on. */
export function StartFailure({ error, again }: { error: unknown; again: () => void }) {
  const mustReload = isOutdated(error)
  return (
    <Front>
      <h1>{titleOf(error)}</h1>
      <p role="alert">{mustReload ? 'Another tab has a newer version of this page.' : messageOf(error)}</p>
      <Button look="primary" class="large" onClick={mustReload ? () => location.reload() : again}>
        {mustReload ? 'Reload the page' : 'Try again'}
      </Button>
    </Front>
  )
}

function titleOf(error: unknown): string {
  if (isOutdated(error)) return 'This tab is out of date'
  if (error instanceof OfflineError) return 'No connection to the service'
  if (error instanceof StorageFullError) return 'There is no room on this device'
  return 'Your bookmarks could not be opened'
}
