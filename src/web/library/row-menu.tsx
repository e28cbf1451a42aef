import type { Sync } from '../../client/index.ts'
import { go } from '../app/route.ts'
import { EditIcon, HistoryIcon, MoveIcon, TagIcon, TrashIcon } from '../ui/icons.ts'
import type { MenuItem } from '../ui/menu.tsx'
import { openEditor } from './editor.tsx'
import { type Bookmark, isFolder } from './kind.ts'
import { openMove } from './move-dialog.tsx'
import { openTags } from './tags-dialog.tsx'

/** What can be done with a bookmark. */
export function rowMenu(
  sync: Sync,
  bookmark: Bookmark,
  remove: (ids: readonly string[]) => Promise<void>,
): readonly (MenuItem | false)[] {
  return [
    { label: 'Edit…', icon: EditIcon, action: () => openEditor(sync, bookmark) },
    { label: 'Move to…', icon: MoveIcon, action: () => openMove(sync, [bookmark.id]) },
    !isFolder(bookmark) && { label: 'Tag…', icon: TagIcon, action: () => openTags(sync, [bookmark.id]) },
    { label: 'History', icon: HistoryIcon, action: () => go('history', bookmark.id) },
    { label: 'Delete', icon: TrashIcon, action: () => remove([bookmark.id]) },
  ]
}
