import { hrefOf } from '../app/route.ts'
import { Empty } from '../ui/empty.tsx'
import type { IconShapes } from '../ui/icon.tsx'

/** Stands where all bookmarks would be: the two ways to the first ones. */
export function NoBookmarks({ icon }: { icon: IconShapes }) {
  return (
    <Empty icon={icon} title="No bookmarks yet">
      <p>
        <a href={hrefOf('add')}>Add one</a>, or <a href={hrefOf('settings')}>import the bookmark file</a> that your
        browser exports.
      </p>
    </Empty>
  )
}
