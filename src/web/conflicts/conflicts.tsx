import type { Conflict, PlaintextBookmark } from '../../client/index.ts'
import { useConflicts, useSync } from '../../client/react.ts'
import { ServerConflicts } from '../history/server-conflicts.tsx'
import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/empty.tsx'
import { ConflictIcon } from '../ui/icons.ts'

/** Edits on this device that lost to another edit, until somebody decides about them. */
export function Conflicts() {
  const conflicts = useConflicts()
  const ids = [...new Set(conflicts.map(({ id }) => id))]
  return (
    <section class="page" id="conflicts" aria-label="Conflicts">
      <h1>Conflicts</h1>
      <ul class="plain">
        {ids.map((id) => (
          <Item key={id} id={id} conflicts={conflicts.filter((conflict) => conflict.id === id)} />
        ))}
      </ul>
      <ServerConflicts>
        {ids.length === 0 && (
          <Empty icon={ConflictIcon} title="No conflicts">
            <p>When two devices change the same bookmark at the same time, the edit that lost waits here.</p>
          </Empty>
        )}
      </ServerConflicts>
    </section>
  )
}

function Item({ id, conflicts }: { id: string; conflicts: readonly Conflict[] }) {
  const sync = useSync()
  return (
    <li class="panel" data-id={id}>
      {conflicts.map((conflict) => (
        <p key={describe(conflict)}>{describe(conflict)}</p>
      ))}
      <div class="bar">
        <Button onClick={() => sync.resolve(id, 'mine')}>Restore mine</Button>
        <Button onClick={() => sync.resolve(id, 'theirs')}>Keep theirs</Button>
      </div>
    </li>
  )
}

function describe({ fields, mine, theirs }: Conflict): string {
  const what = fields.length > 0 ? ` (${fields.map((field) => fieldNames[field] ?? field).join(', ')})` : ''
  return `This device: ${nameOf(mine)}. Another edit: ${nameOf(theirs)}, which was kept${what}.`
}

const fieldNames: Record<string, string> = { url: 'address', parentId: 'folder' }

function nameOf(bookmark: PlaintextBookmark | null): string {
  return bookmark ? `“${bookmark.title || bookmark.url || 'untitled'}”` : 'deleted'
}
