import { useCallback } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useBookmark, useSync } from '../../client/react.ts'
import { hrefOf } from '../app/route.ts'
import { Empty } from '../ui/empty.tsx'
import { FolderOpenIcon } from '../ui/icons.ts'
import { Collection, useOrder } from './collection.tsx'
import { nameOf } from './kind.ts'
import { NoBookmarks } from './no-bookmarks.tsx'
import { useSorted } from './order.ts'
import { foldersAround } from './paths.ts'

/** What is in a folder or, without an id, at the top level. */
export function Folder({ rest }: { rest: string }) {
  const id = rest === '' ? undefined : rest
  const [order, setOrder] = useOrder('folder')
  const ids = useSorted(
    useCallback((sync: SyncReader) => sync.contents(id), [id]),
    order,
  )
  const folder = useBookmark(rest)
  const isMissing = id !== undefined && !folder
  return (
    <Collection
      key={rest}
      label="Bookmarks"
      heading={<Heading id={rest} />}
      ids={ids}
      order={order}
      setOrder={setOrder}
      {...(!isMissing && { folder: { id } })}
      empty={
        folder ? (
          <Empty icon={FolderOpenIcon} title="Nothing in this folder yet">
            <p>Add a bookmark, or drag some here.</p>
          </Empty>
        ) : (
          <NoBookmarks icon={FolderOpenIcon} isFolderMissing={isMissing} />
        )
      }
    />
  )
}

function Heading({ id }: { id: string }) {
  const sync = useSync()
  const folder = useBookmark(id)
  const around = foldersAround(sync, folder)
  return (
    <div class="heading">
      {folder && (
        <nav class="crumbs" aria-label="Folders around this one">
          <a href={hrefOf('folder')} data-drop-folder="">
            Bookmarks
          </a>
          {around.map((one) => (
            <a key={one.id} href={hrefOf('folder', one.id)} data-drop-folder={one.id}>
              {nameOf(one)}
            </a>
          ))}
        </nav>
      )}
      <h1>{folder ? nameOf(folder) : 'Bookmarks'}</h1>
    </div>
  )
}
