import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import type { SyncReader } from '../../client/index.ts'
import { useSync } from '../../client/react.ts'
import { Empty } from '../ui/empty.tsx'
import { BookmarkIcon, SearchIcon, TagIcon } from '../ui/icons.ts'
import { Collection, useOrder } from './collection.tsx'
import { wordsOf } from './highlight.tsx'
import { allLinks } from './links.ts'
import { NoBookmarks } from './no-bookmarks.tsx'
import { useSorted } from './order.ts'

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
      showsPath
      empty={<Empty icon={TagIcon} title="No bookmark has this tag" />}
    />
  )
}

const maxFound = 500
const noIds: readonly string[] = []

/** What has all the words that are searched for, best first. */
export function Found({ rest: query }: { rest: string }) {
  const sync = useSync()
  /** What was found last, until the next is. */
  const [found, setFound] = useState<{ query: string; ids: readonly string[] }>()
  const words = useMemo(() => wordsOf(found?.query ?? ''), [found?.query])
  useEffect(() => {
    const stop = new AbortController()
    const search = () => {
      sync.search(query, { limit: maxFound, signal: stop.signal }).then(
        (bookmarks) => setFound({ query, ids: bookmarks.map(({ id }) => id) }),
        () => {},
      )
    }
    search()
    const off = sync.on('change', search)
    return () => {
      off()
      stop.abort()
    }
  }, [query])
  const count = found?.ids.length ?? 0
  return (
    <Collection
      label="Found bookmarks"
      heading={
        <div class="heading">
          <h1>Search</h1>
          {found && (
            <p role="status">
              {count === maxFound ? `The best ${count}` : `${count} found`} for “{found.query}”
            </p>
          )}
        </div>
      }
      ids={found?.ids ?? noIds}
      words={words}
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
