import { useCallback, useMemo } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useBookmark, useSync, useSyncStatus } from '../../client/react.ts'
import { hrefOf } from '../app/route.ts'
import { BookmarkIcon, FolderOpenIcon, type IconShapes, SearchIcon, TagIcon } from '../ui/icons.tsx'
import { Empty } from '../ui/waiting.tsx'
import { Collection, useOrder } from './collection.tsx'
import { useSearched, wordsOf } from './found.tsx'
import { nameOf } from './kind.ts'
import { allLinks } from './links.ts'
import { foldersAround } from './paths.ts'
import { useSorted } from './sorter.ts'

/** Every bookmark, as the folders have them one after another, or sorted. */
export function All() {
  const [order, setOrder] = useOrder('all')
  return (
    <Collection
      label="All bookmarks"
      heading={<h1>All bookmarks</h1>}
      ids={useSorted(allLinks, order)}
      order={order}
      setOrder={setOrder}
      adds={{}}
      showsPath
      empty={<NoBookmarks icon={BookmarkIcon} />}
    />
  )
}

/** The bookmarks with a tag. */
export function Tagged({ rest: tag }: { rest: string }) {
  const [order, setOrder] = useOrder('all')
  const ids = useSorted(
    useCallback((sync: SyncReader) => allLinks(sync).filter((id) => sync.get(id)?.tags?.includes(tag) ?? false), [tag]),
    order,
  )
  return (
    <Collection
      key={tag}
      label={`Bookmarks tagged ${tag}`}
      heading={<h1>#{tag}</h1>}
      ids={ids}
      order={order}
      setOrder={setOrder}
      adds={{ tags: [tag] }}
      showsPath
      empty={<Empty icon={TagIcon} title="No bookmark has this tag" />}
    />
  )
}

const maxFound = 500
const noIds: readonly string[] = []

/** The bookmarks that have all the words that are searched for, best first. */
export function Found({ rest: query }: { rest: string }) {
  const sync = useSync()
  const search = async (signal: AbortSignal) => {
    const bookmarks = await sync.search(query, { limit: maxFound, signal })
    return { query, ids: bookmarks.map(({ id }) => id) }
  }
  const found = useSearched(sync, search, [query])
  const words = useMemo(() => wordsOf(found?.query ?? ''), [found?.query])
  const count = found?.ids.length ?? 0
  return (
    <Collection
      label="Found bookmarks"
      heading={
        <div class="heading">
          <h1>Search</h1>
          {found && (
            <p role="status">
              {count === maxFound ? `The best ${count}` : `${count.toLocaleString()} found`} for “{found.query}”
            </p>
          )}
        </div>
      }
      ids={found?.ids ?? noIds}
      words={words}
      adds={{}}
      showsPath
      empty={
        found && (
          <Empty icon={SearchIcon} title="Nothing found">
            <p>Each word may be part of a title, an address, a tag, a description or the name of a folder.</p>
          </Empty>
        )
      }
    />
  )
}

/** The contents of a folder or, without an id, of the top level. */
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
      {...(!isMissing && { folder: { id }, adds: id === undefined ? {} : { parentId: id } })}
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

interface NoBookmarksProps {
  icon: IconShapes
  /** The address names a folder that is not among the bookmarks. */
  isFolderMissing?: boolean
}

/** Stands where bookmarks would be: on a new device that they are on their way, otherwise the two ways to the first ones. */
function NoBookmarks({ icon, isFolderMissing = false }: NoBookmarksProps) {
  const { lastSync, state } = useSyncStatus()
  if (lastSync === 0) {
    return state === 'connecting' || state === 'syncing' ? (
      <Empty icon={icon} title="Getting your bookmarks">
        <p>They appear as they arrive. You can add some meanwhile.</p>
      </Empty>
    ) : (
      <Empty icon={icon} title="Your bookmarks are not on this device yet">
        <p>They appear as soon as the service answers. You can add some meanwhile.</p>
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
