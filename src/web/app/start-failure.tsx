import { OfflineError, StorageFullError } from '../../client/index.ts'
import { Front } from '../sign-in/front.tsx'
import { Button } from '../ui/button.tsx'
import { messageOf } from '../ui/failure.ts'

/** Why the page could not open the bookmarks, and the way on. */
export function StartFailure({ error, again }: { error: unknown; again: () => void }) {
  const isOutdated = error instanceof Error && /newer version/.test(error.message)
  return (
    <Front>
      <h1>{titleOf(error, isOutdated)}</h1>
      <p role="alert">{isOutdated ? 'Another tab has a newer version of this page.' : messageOf(error)}</p>
      <Button look="primary" class="large" onClick={isOutdated ? () => location.reload() : again}>
        {isOutdated ? 'Reload the page' : 'Try again'}
      </Button>
    </Front>
  )
}

function titleOf(error: unknown, isOutdated: boolean): string {
  if (isOutdated) return 'This tab is out of date'
  if (error instanceof OfflineError) return 'No connection to the service'
  if (error instanceof StorageFullError) return 'There is no room on this device'
  return 'Your bookmarks could not be opened'
}
