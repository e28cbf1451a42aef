import { useSync } from '../../client/react.ts'
import { Button } from '../ui/button.tsx'
import { useClockError } from '../ui/service-time.ts'
import { durationText } from '../ui/time.tsx'

/** The sync corrects what the clock says, and so does the page. The person should hear of it, because other programs do not. */
export function ClockNotice() {
  const error = useClockError()
  const sync = useSync()
  if (error === 0) return null
  return (
    <section class="notice calm" id="clock" aria-label="Clock">
      <div role="status">
        <strong>
          The clock of this device is {durationText(error)} {error > 0 ? 'ahead' : 'behind'}
        </strong>
        <p>Your bookmarks sync all the same. Set the clock of the device right, or other pages may refuse it.</p>
      </div>
      <Button onClick={() => sync.syncNow()}>Check again</Button>
    </section>
  )
}
