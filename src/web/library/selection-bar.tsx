import { useSync } from '../../client/react.ts'
import { Button } from '../ui/button.tsx'
import { CloseIcon, MoveIcon, TagIcon, TrashIcon } from '../ui/icons.ts'
import { remove } from './actions.ts'
import { openMove } from './move-dialog.tsx'
import type { Selected } from './selected.ts'
import { openTags } from './tags-dialog.tsx'

/** What can be done with all selected bookmarks at once. */
export function SelectionBar({ selected, count }: { selected: Selected; count: number }) {
  const sync = useSync()
  const ids = [...selected.ids]
  return (
    <div class="toolbar selection-bar" role="toolbar" aria-label="Selected bookmarks">
      <span class="toolbar-count" role="status">
        {ids.length} selected
      </span>
      <Button icon={MoveIcon} onClick={() => openMove(sync, ids)}>
        Move
      </Button>
      <Button icon={TagIcon} onClick={() => openTags(sync, ids)}>
        Tag
      </Button>
      <Button look="danger" icon={TrashIcon} onClick={() => remove(sync, ids)}>
        Delete
      </Button>
      {ids.length < count && (
        <Button look="quiet" onClick={selected.all}>
          Select all
        </Button>
      )}
      <Button look="quiet" icon={CloseIcon} onClick={selected.clear}>
        Cancel
      </Button>
    </div>
  )
}
