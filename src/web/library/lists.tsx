import { useCallback, useMemo, useRef } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useBookmark, useSelection, useSync, useSyncStatus } from '../../client/react.ts'
import { hrefOf } from '../session/route.ts'
import { Button } from '../ui/button.tsx'
import { BookmarkIcon, DuplicatesIcon, FolderOpenIcon, type IconShapes, SearchIcon, TagIcon } from '../ui/icons.tsx'
import { Empty } from '../ui/waiting.tsx'
import { number } from '../words/language.ts'
import { fill, say } from '../words/words.ts'
import { merge } from './actions.ts'
import { Collection, useOrder } from './collection.tsx'
import { findIds, markedIn, quotedQuery, useSearched } from './found.tsx'
import { type Bookmark, nameOf } from './kind.ts'
import { allLinks, pageOf } from './links.ts'
import { foldersAround } from './paths.ts'
import { recordsOf } from './records.ts'
import { memoizedByTree, sorter, useSorted } from './sorter.ts'
import { TagMenu } from './tag-menu.tsx'

/** Every bookmark, in the order of the folders or sorted. */
export function All() {
  const sorting = useOrder('all')
  return (
    <Collection
      label={say.app.views.all}
      heading={<h1>{say.app.views.all}</h1>}
      ids={useSorted(allLinks, sorting.order)}
      sorting={sorting}
      adds={{}}
      showsPath
      empty={<NoBookmarks icon={BookmarkIcon} />}
    />
  )
}

/** The bookmarks with a tag. */
export function Tagged({ rest: tag }: { rest: string }) {
  const sorting = useOrder('all')
  const ids = useSorted(
    useCallback((sync: SyncReader) => allLinks(sync).filter((id) => sync.get(id)?.tags?.includes(tag) ?? false), [tag]),
    sorting.order,
  )
  return (
    <Collection
      key={tag}
      label={say.library.tagLabel(tag)}
      heading={
        <div class="bar">
          <h1>#{tag}</h1>
          {ids.length > 0 && <TagMenu tag={tag} label={say.library.moreFor(`#${tag}`)} />}
        </div>
      }
      ids={ids}
      sorting={sorting}
      adds={{ tags: [tag] }}
      showsPath
      empty={<Empty icon={TagIcon} title={say.library.noTagged} />}
    />
  )
}

const noIds: readonly string[] = []

/** The hits of a search, the best first, or sorted. */
export function Found({ rest: query }: { rest: string }) {
  const sync = useSync()
  const sorting = useOrder('found')
  const search = async (signal: AbortSignal) => {
    const bookmarks = await sync.search(query, { limit: Number.POSITIVE_INFINITY, signal })
    return { query, ids: bookmarks.map(({ id }) => id) }
  }
  const found = useSearched(sync, search, [query])
  const words = useMemo(() => markedIn(found?.query ?? ''), [found?.query])
  const ids = useRef(noIds)
  ids.current = found?.ids ?? noIds
  // One sorter for all queries, so that its cache is kept while the person types.
  const sort = useMemo(() => sorter(() => ids.current, sorting.order), [sorting.order])
  return (
    <Collection
      label={say.library.foundLabel}
      heading={
        <div class="heading">
          <h1>{say.app.views.search}</h1>
          {found && <p role="status">{say.library.foundFor(found.ids.length, quotedQuery(found.query))}</p>}
          <div class="bar">
            <FoundIn type="groups" view="groups" query={query} />
            <FoundIn type="history" view="visits" query={query} />
          </div>
        </div>
      }
      ids={useMemo(() => sort(sync), [found, sort])}
      sorting={sorting}
      words={words}
      adds={{}}
      showsPath
      empty={
        found && (
          <Empty icon={SearchIcon} title={say.library.nothingFound}>
            <p>{say.library.searchesIn}</p>
            <p>{fill(say.library.searchSyntax)}</p>
          </Empty>
        )
      }
    />
  )
}

interface FoundInProps {
  type: 'groups' | 'history'
  view: 'groups' | 'visits'
  query: string
}

/** Links to the hits among tab groups or the history. */
function FoundIn({ type, view, query }: FoundInProps) {
  const sync = useSync()
  const records = useMemo(() => recordsOf(sync, type), [sync])
  const found = useSearched(records, (signal) => findIds(records, query, signal), [query])
  if (!found?.size) return null
  return (
    <a class="tag" href={hrefOf(view, query)}>
      <span>{say.app.views[view]}</span> <span class="count">{number(found.size)}</span>
    </a>
  )
}

/** The contents of a folder or, without an id, of the top level. */
export function Folder({ rest }: { rest: string }) {
  const id = rest === '' ? undefined : rest
  const sorting = useOrder('folder')
  const ids = useSorted(
    useCallback((sync: SyncReader) => sync.contents(id).filter((one) => id !== undefined || !isStar(sync, one)), [id]),
    sorting.order,
  )
  const folder = useBookmark(rest)
  const isMissing = id !== undefined && !folder
  return (
    <Collection
      key={rest}
      label={say.app.views.folder}
      heading={<Heading id={rest} />}
      ids={ids}
      sorting={sorting}
      {...(!isMissing && { folder: { id }, adds: id === undefined ? {} : { parentId: id } })}
      empty={
        folder ? (
          <Empty icon={FolderOpenIcon} title={say.library.emptyFolder}>
            <p>{say.library.emptyFolderMore}</p>
          </Empty>
        ) : (
          <NoBookmarks icon={FolderOpenIcon} isFolderMissing={isMissing} />
        )
      }
    />
  )
}

/** True for starred repositories. The top level omits them: there may be thousands, and they have their own view. */
function isStar(sync: SyncReader, id: string): boolean {
  return sync.get(id)?.source === 'stars'
}

function Heading({ id }: { id: string }) {
  const sync = useSync()
  const folder = useBookmark(id)
  const around = foldersAround(sync, folder)
  return (
    <div class="heading">
      {folder && (
        <nav class="crumbs" aria-label={say.library.foldersAround}>
          <a href={hrefOf('folder')} data-drop-folder="">
            {say.app.views.folder}
          </a>
          {around.map((one) => (
            <a key={one.id} href={hrefOf('folder', one.id)} data-drop-folder={one.id}>
              {nameOf(one)}
            </a>
          ))}
        </nav>
      )}
      <h1>{folder ? nameOf(folder) : say.app.views.folder}</h1>
    </div>
  )
}

interface NoBookmarksProps {
  icon: IconShapes
  /** True if the address names a folder that does not exist. */
  isFolderMissing?: boolean
}

/** Replaces an empty list: says that bookmarks still arrive, that the folder is missing, or how to add some. */
function NoBookmarks({ icon, isFolderMissing = false }: NoBookmarksProps) {
  const { lastSync, state } = useSyncStatus()
  if (lastSync === 0) {
    const isArriving = state === 'connecting' || state === 'syncing'
    return (
      <Empty icon={icon} title={isArriving ? say.library.getting : say.library.notHereYet}>
        <p>{isArriving ? say.library.gettingMore : say.library.notHereYetMore}</p>
      </Empty>
    )
  }
  if (isFolderMissing) {
    return (
      <Empty icon={icon} title={say.library.folderMissing}>
        <p>
          {fill(say.library.folderMissingMore, {
            trash: (text) => <a href={hrefOf('trash')}>{text}</a>,
            all: (text) => <a href={hrefOf('folder')}>{text}</a>,
          })}
        </p>
      </Empty>
    )
  }
  return (
    <Empty icon={icon} title={say.library.none}>
      <p>
        {fill(say.library.noneMore, {
          add: (text) => <a href={hrefOf('add')}>{text}</a>,
          import: (text) => <a href={hrefOf('settings')}>{text}</a>,
        })}
      </p>
    </Empty>
  )
}

/** Bookmarks of the same page, next to each other. */
export function Duplicates() {
  const ids = useSelection(useMemo(() => memoizedByTree(findDuplicates), []))
  const sync = useSync()
  const groups = Object.values(Object.groupBy(ids, (id) => pageOf(sync.get(id)?.url) ?? id)) as string[][]
  const later = ids.length - groups.length
  return (
    <Collection
      label={say.app.views.duplicates}
      heading={
        <div class="heading">
          <h1>{say.app.views.duplicates}</h1>
          {later > 0 && (
            <div class="bar">
              <p>{say.library.duplicatesMore}</p>
              <Button onClick={() => merge(sync, groups)}>{say.library.keepOldest(later)}</Button>
            </div>
          )}
        </div>
      }
      ids={ids}
      showsPath
      empty={
        <Empty icon={DuplicatesIcon} title={say.library.noDuplicates}>
          <p>{say.library.noDuplicatesMore}</p>
        </Empty>
      }
    />
  )
}

function findDuplicates(sync: SyncReader): string[] {
  const byAddress = new Map<string, Bookmark[]>()
  for (const bookmark of sync.bookmarks().values()) {
    const address = pageOf(bookmark.url)
    if (address === undefined) continue
    const same = byAddress.get(address)
    if (same) same.push(bookmark)
    else byAddress.set(address, [bookmark])
  }
  return [...byAddress.values()]
    .filter((same) => same.length > 1)
    .flatMap((same) => same.sort(byAge).map(({ id }) => id))
}

function byAge(one: Bookmark, other: Bookmark): number {
  const [first, second] = [one.dateAdded ?? '', other.dateAdded ?? '']
  return first < second ? -1 : first > second ? 1 : 0
}
