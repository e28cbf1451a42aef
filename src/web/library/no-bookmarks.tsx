import { useSyncStatus } from '../../client/react.ts'
import { hrefOf } from '../app/route.ts'
import { Empty } from '../ui/empty.tsx'
import type { IconShapes } from '../ui/icon.tsx'

interface NoBookmarksProps {
  icon: IconShapes
  /** The address names a folder that is not among the bookmarks. */
  isFolderMissing?: boolean
}

/** Stands where bookmarks would be: on a new device that they are on their way, otherwise the two ways to the first ones. */
export function NoBookmarks({ icon, isFolderMissing = false }: NoBookmarksProps) {
  const { lastSync, state } = useSyncStatus()
  if (lastSync === 0 && (state === 'connecting' || state === 'syncing')) {
    return (
      <Empty icon={icon} title="Getting your bookmarks">
        <p>They appear as they arrive. You can add some meanwhile.</p>
      </Empty>
    )
  }
  if (isFolderMissing) {
    return (
      <Empty icon={icon} title="This folder is not here">
        <p>
          If it was deleted, it is in <a href={hrefOf('trash')}>the trash</a> for a while. Here are{' '}
          <a href={hrefOf('folder')}>all other bookmarks</a>.
        </p>
      </Empty>
    )
  }
  return (
    <Empty icon={icon} title="No bookmarks yet">
      <p>
        <a href={hrefOf('add')}>Add one</a>, or <a href={hrefOf('settings')}>import the bookmark file</a> that your
        browser exports.
      </p>
    </Empty>
  )
}
