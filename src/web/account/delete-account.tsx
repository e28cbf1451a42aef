import { useEffect } from 'preact/hooks'
import { useApp } from '../app/context.ts'
import { hrefOf } from '../app/route.ts'
import { Button } from '../ui/button.tsx'
import { confirmDeletion } from './confirm-deletion.tsx'

/** @param isAsked the person comes back from signing in again, to delete it */
export function DeleteAccount({ isAsked }: { isAsked: boolean }) {
  const app = useApp()
  useEffect(() => {
    if (isAsked) confirmDeletion(app)
  }, [isAsked])
  return (
    <section class="panel" id="account-delete" aria-labelledby="delete-title">
      <h2 id="delete-title">Delete my account</h2>
      <p>
        Everything of yours goes from the service and from this browser. Save a{' '}
        <a href={hrefOf('settings')}>bookmark file or a backup</a> before, if you want to keep your bookmarks.
      </p>
      <div class="bar">
        <Button look="danger" onClick={() => confirmDeletion(app)}>
          Delete my account…
        </Button>
      </div>
    </section>
  )
}
