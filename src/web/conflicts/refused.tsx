import type { Quarantined } from '../../client/index.ts'
import { useSync, useSyncStatus } from '../../client/react.ts'
import { Button } from '../ui/button.tsx'
import { tell } from '../ui/tell.ts'

const mostShown = 5

/** Edits that the service refused. They are on this device alone, until they are sent or dropped. */
export function Refused() {
  const { quarantined } = useSyncStatus()
  const sync = useSync()
  if (quarantined === undefined) return null
  const refused = sync.quarantined()
  const isFull = refused.some(({ reason }) => reason === 'quota')
  const drop = async ({ id, bookmark }: Quarantined) => {
    await sync.dropQuarantined(id)
    tell('The edit was dropped', bookmark ? { undo: () => sync.put(bookmark) } : {})
  }
  return (
    <section class="notice" id="refused" aria-labelledby="refused-title">
      <div role="status">
        <h2 id="refused-title">{isFull ? 'No room left on the service' : 'The service refused edits'}</h2>
        <p>
          {quarantined === 1 ? 'One edit is' : `${quarantined.toLocaleString()} edits are`} in this browser alone.{' '}
          {isFull
            ? 'Delete bookmarks that you no longer need, or ask the operator for more room; then try again.'
            : 'Change the bookmarks, which sends them again, or drop the edits.'}
        </p>
      </div>
      <ul class="plain">
        {refused.slice(0, mostShown).map((one) => (
          <li key={one.id} class="bar" data-id={one.id}>
            <span>
              {one.bookmark ? `“${one.bookmark.title || one.bookmark.url}”` : 'A deletion'}: {one.message}.
            </span>
            <Button onClick={() => drop(one)}>Drop the edit</Button>
          </li>
        ))}
      </ul>
      {refused.length > mostShown && <p>And {(refused.length - mostShown).toLocaleString()} more.</p>}
      <Button onClick={() => sync.retryQuarantined()}>Try again</Button>
    </section>
  )
}
