import { useSync } from '../../client/react.ts'
import { Button } from '../ui/button.tsx'
import { CloseIcon, MoveIcon, SelectAllIcon, TagIcon, TrashIcon } from '../ui/icons.ts'
import { openMove } from './move-dialog.tsx'
import type { Selected } from './selected.ts'
import { openTags } from './tags-dialog.tsx'

interface SelectionBarProps {
  selected: Selected
  count: number
  remove: (ids: readonly string[]) => Promise<void>
}

/** What can be done with all selected bookmarks at once. */
export function SelectionBar({ selected, count, remove }: SelectionBarProps) {
  const sync = useSync()
  const ids = [...selected.ids]
  return (
    <div class="toolbar selection-bar" role="toolbar" aria-label="Selected bookmarks">
      <span class="toolbar-count" role="status">
        {ids.length} selected
      </span>
      <Button icon={MoveIcon} class="compact" onClick={() => openMove(sync, ids)}>
        Move
      </Button>
      <Button icon={TagIcon} class="compact" onClick={() => openTags(sync, ids)}>
        Tag
      </Button>
      <Button look="danger" icon={TrashIcon} class="compact" onClick={() => remove(ids)}>
        Delete
      </Button>
      {ids.length < count && (
        <Button look="quiet" icon={SelectAllIcon} class="compact" onClick={selected.all}>
          Select all
        </Button>
      )}
      <Button look="quiet" icon={CloseIcon} class="compact" onClick={selected.clear}>
        Cancel
      </Button>
    </div>
  )
}
