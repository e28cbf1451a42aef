import type { DeletedBookmark } from '../../client/history.ts'
import { useSync } from '../../client/react.ts'
import { go } from '../app/route.ts'
import { type Bookmark, hostOf, isFolder, nameOf } from '../library/kind.ts'
import { Letter } from '../library/letter.tsx'
import { Button } from '../ui/button.tsx'
import { confirmFirst } from '../ui/confirm.tsx'
import { HistoryIcon, MoreIcon, TrashIcon } from '../ui/icons.ts'
import { Menu } from '../ui/menu.tsx'
import { tell } from '../ui/tell.ts'
import { Time } from '../ui/time.tsx'
import { restore, restoreFolder } from './restore.ts'
import { useHistory } from './use-history.ts'
import type { TrashList } from './use-trash.ts'

export function TrashRow({ deleted, trash }: { deleted: DeletedBookmark; trash: TrashList }) {
  const { id, bookmark, deletedAt, erasedAt } = deleted
  const history = useHistory()
  const sync = useSync()
  const name = bookmark ? nameOf(bookmark) : 'Not readable with this device’s keys'
  const inside = bookmark && isFolder(bookmark) ? trash.inside(id) : []
  const putBack = async () => {
    if (bookmark && inside.length > 0) await restoreFolder(sync, [bookmark, ...inside])
    else await restore(history, sync, id)
    await trash.load()
  }
  const erase = () =>
    confirmFirst({
      title: `Erase “${name}”?`,
      text: 'It and all its earlier versions go for good, on all devices. This cannot be taken back.',
      action: 'Erase for good',
      run: async () => {
        await history.purge(id)
        tell(`“${name}” erased for good`)
        await trash.load()
      },
    })
  return (
    <li class="trash-row" data-id={id}>
      {bookmark ? <Letter bookmark={bookmark} /> : <span class="letter own">?</span>}
      <div class="row-text">
        <span class="row-title" dir="auto">
          {name}
        </span>
        <span class="row-sub">{bookmark && describe(bookmark, inside.length)}</span>
        <span class="row-sub">
          Deleted <Time at={deletedAt} />, erased for good <Time at={erasedAt} />
        </span>
      </div>
      <Button aria-label={`Restore ${name}`} onClick={putBack}>
        Restore
      </Button>
      <Menu
        label={`More for ${name}`}
        icon={MoreIcon}
        items={[
          { label: 'History', icon: HistoryIcon, action: () => go('history', id) },
          { label: 'Erase now…', icon: TrashIcon, action: erase },
        ]}
      />
    </li>
  )
}

function describe(bookmark: Bookmark, inside: number): string {
  if (!isFolder(bookmark)) return hostOf(bookmark) || (bookmark.url ?? '')
  return inside === 0 ? 'Folder' : `Folder, restored with ${inside} that ${inside === 1 ? 'was' : 'were'} in it`
}
