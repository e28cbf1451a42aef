import { useSyncStatus } from '../../client/react.ts'
import { hrefOf } from '../app/route.ts'
import { Empty } from '../ui/empty.tsx'
import type { IconShapes } from '../ui/icon.tsx'

/** Stands where all bookmarks would be: on a new device that they are on their way, otherwise the two ways to the first ones. */
export function NoBookmarks({ icon }: { icon: IconShapes }) {
  const { lastSync, state } = useSyncStatus()
  if (lastSync === 0 && (state === 'connecting' || state === 'syncing')) {
    return (
      <Empty icon={icon} title="Getting your bookmarks">
        <p>They appear as they arrive. You can add some meanwhile.</p>
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
