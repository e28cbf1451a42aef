import { useState } from 'preact/hooks'
import { useSyncStatus } from '../../client/react.ts'
import { Answer } from '../app/loaded.tsx'
import { unsentOf } from '../app/unsent.ts'
import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/empty.tsx'
import { Field } from '../ui/field.tsx'
import { TrashIcon } from '../ui/icons.ts'
import { askToEmpty } from './empty-trash.tsx'
import { TrashRow } from './trash-row.tsx'
import { useHistory } from './use-history.ts'
import { useTrash } from './use-trash.ts'

/** Deleted bookmarks, the last deleted first, until the service erases them for good. */
export function Trash() {
  const history = useHistory()
  // What this device deletes is there once the service knows of it.
  const isSent = unsentOf(useSyncStatus()) === 0
  const trash = useTrash(isSent)
  const [query, setQuery] = useState('')
  return (
    <section class="page" aria-labelledby="trash-title">
      <div class="heading">
        <h1 id="trash-title">Trash</h1>
        <p>What you delete stays here for a while, on all your devices. Then the service erases it for good.</p>
      </div>
      <Answer of={trash}>
        {({ bookmarks, next }) => {
          if (bookmarks.length === 0) return <Empty icon={TrashIcon} title="The trash is empty" />
          const found = trash.search(query)
          return (
            <>
              <div class="trash-tools">
                <Field
                  label="Search in the trash"
                  name="query"
                  autocomplete="off"
                  onInput={(event) => {
                    setQuery(event.currentTarget.value)
                    void trash.loadAll()
                  }}
                />
                <Button look="danger" onClick={() => askToEmpty(history, trash.load)}>
                  Empty the trash…
                </Button>
              </div>
              <p class="hint" role="status">
                {found.length.toLocaleString()}
                {next !== null && ' or more'} {query === '' ? 'in the trash' : 'found'}
              </p>
              <ul class="plain trash-list" aria-label="Deleted bookmarks">
                {found.slice(0, trash.mostShown).map((deleted) => (
                  <TrashRow key={deleted.id} deleted={deleted} trash={trash} />
                ))}
              </ul>
              {(next !== null || found.length > trash.mostShown) && <Button onClick={trash.showMore}>Show more</Button>}
            </>
          )
        }}
      </Answer>
    </section>
  )
}
