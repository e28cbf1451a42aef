import type { Conflict, PlaintextBookmark } from '../../client/index.ts'
import { useConflicts, useSync } from '../../client/react.ts'
import { withMine } from '../../client/sync/store/conflicts.ts'
import { ServerConflicts } from '../history/server-conflicts.tsx'
import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/empty.tsx'
import { ConflictIcon } from '../ui/icons.ts'
import { tell } from '../ui/tell.ts'

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
  const current = sync.get(id) ?? null
  const name = nameOf(current ?? conflicts.at(-1)?.mine ?? null)
  const isMineDeleted = withMine(current, conflicts) === null
  const restoreName = isMineDeleted ? 'Delete it' : 'Restore mine'
  const restoreMine = async () => {
    const before = sync.get(id)
    await sync.resolve(id, 'mine')
    tell(isMineDeleted ? `${name} deleted` : `${nameOf(sync.get(id) ?? null)}: your edit is back`, {
      undo: () => (before ? sync.put(before) : sync.remove(id)),
    })
  }
  const keepTheirs = async () => {
    await sync.resolve(id, 'theirs')
    tell(`${name} stays ${current ? 'as it is' : 'deleted'}`, {
      undoName: restoreName,
      undo: () => {
        const mine = withMine(sync.get(id) ?? null, conflicts)
        return mine ? sync.put(mine) : sync.remove(id)
      },
    })
  }
  return (
    <li class="panel" data-id={id}>
      {conflicts.map((conflict) => (
        <Lost key={keyOf(conflict)} conflict={conflict} />
      ))}
      <div class="bar">
        <Button onClick={restoreMine}>{restoreName}</Button>
        <Button onClick={keepTheirs}>
          {!current ? 'Leave it deleted' : isMineDeleted ? 'Keep it' : 'Keep theirs'}
        </Button>
      </div>
    </li>
  )
}

const mineName = 'This device'
const theirsName = 'Another edit, which was kept'

/** What lost beside what it lost to, field by field. */
function Lost({ conflict: { fields, mine, theirs } }: { conflict: Conflict }) {
  const sync = useSync()
  const textOf = (bookmark: PlaintextBookmark | null, field: string): string => {
    if (!bookmark) return 'Deleted'
    if (field === '') return nameOf(bookmark)
    if (field !== 'parentId') return valueText(bookmark[field as keyof PlaintextBookmark])
    const folder = bookmark.parentId === undefined ? undefined : sync.get(bookmark.parentId)
    return folder ? nameOf(folder) : 'Top level'
  }
  return (
    <>
      <h2>{nameOf(theirs ?? mine)}</h2>
      <table class="lost">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">{mineName}</th>
            <th scope="col">{theirsName}</th>
          </tr>
        </thead>
        <tbody>
          {(fields.length > 0 ? fields : ['']).map((field) => (
            <tr key={field}>
              <th scope="row">{fieldNames[field] ?? field}</th>
              <td data-whose={mineName}>{textOf(mine, field)}</td>
              <td data-whose={theirsName}>{textOf(theirs, field)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  )
}

function keyOf({ fields, mine, theirs }: Conflict): string {
  return JSON.stringify([fields, mine, theirs])
}

function valueText(value: unknown): string {
  if (value === undefined || value === '') return 'Empty'
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

const fieldNames: Record<string, string> = {
  '': 'Bookmark',
  title: 'Title',
  url: 'Address',
  tags: 'Tags',
  description: 'Description',
  parentId: 'Folder',
}

function nameOf(bookmark: PlaintextBookmark | null): string {
  return bookmark ? `“${bookmark.title || bookmark.url || 'untitled'}”` : 'deleted'
}
