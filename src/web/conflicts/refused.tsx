import { useSync, useSyncStatus } from '../../client/react.ts'
import { Button } from '../ui/button.tsx'

/** Edits that the service refused. They are on this device alone, until they are sent or dropped. */
export function Refused() {
  const { quarantined } = useSyncStatus()
  const sync = useSync()
  if (quarantined === undefined) return null
  return (
    <section class="panel" id="refused" aria-label="Not sent">
      <h2>Not sent</h2>
      <ul class="plain">
        {sync.quarantined().map(({ id, bookmark, message }) => (
          <li key={id} data-id={id}>
            <p>
              “{bookmark?.title ?? id}” could not be sent: {message}.
            </p>
            <Button onClick={() => sync.dropQuarantined(id)}>Drop</Button>
          </li>
        ))}
      </ul>
      <Button onClick={() => sync.retryQuarantined()}>Try again</Button>
    </section>
  )
}
