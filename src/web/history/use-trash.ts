import { useMemo, useRef, useState } from 'preact/hooks'
import type { DeletedBookmark } from '../../client/history.ts'
import { type Loaded, useLoaded } from '../app/loaded.tsx'
import { wordsOf } from '../library/highlight.tsx'
import type { Bookmark } from '../library/kind.ts'
import { useHistory } from './use-history.ts'

/** The part of the trash that has been loaded. */
interface TrashPart {
  bookmarks: readonly DeletedBookmark[]
  /** Null if that is all of it. */
  next: string | null
}

export interface TrashList extends Loaded<TrashPart> {
  /** The loaded bookmarks with these words in their titles, addresses, tags and descriptions. */
  search(query: string): readonly DeletedBookmark[]
  /** What was in a deleted folder, and is deleted, too; folders before what is in them. */
  inside(folderId: string): Bookmark[]
  mostShown: number
  showMore(): Promise<void>
  /** A search must not miss what is further down. */
  loadAll(): Promise<void>
}

/** So many rows are drawn at first, and more when they are asked for. */
const rowsOfPage = 100

/** The first page of the trash, and more of it when it is needed. */
export function useTrash(isSent: boolean): TrashList {
  const history = useHistory()
  const [mostShown, setMostShown] = useState(rowsOfPage)
  const [more, setMore] = useState<TrashPart>()
  const loading = useRef<Promise<void>>(null)
  const first = useLoaded<TrashPart>(() => {
    setMore(undefined)
    return history.trash()
  }, [isSent])
  const value = more ?? first.value
  const byFolder = useMemo(() => groupByFolder(value?.bookmarks ?? []), [value])

  const loadTo = async (count: number) => {
    let part = value
    while (part && part.next !== null && part.bookmarks.length < count) {
      const page = await history.trash({ after: part.next })
      part = { bookmarks: [...part.bookmarks, ...page.bookmarks], next: page.next }
      setMore(part)
    }
  }

  return {
    ...first,
    value,
    mostShown,
    inside(folderId) {
      const found = new Map<string, Bookmark>()
      const folders = [folderId]
      for (const folder of folders) {
        for (const bookmark of byFolder.get(folder) ?? []) {
          if (found.has(bookmark.id)) continue
          found.set(bookmark.id, bookmark)
          folders.push(bookmark.id)
        }
      }
      return [...found.values()]
    },
    search(query) {
      const words = wordsOf(query)
      const all = value?.bookmarks ?? []
      return words.length === 0 ? all : all.filter((deleted) => words.every((word) => textOf(deleted).includes(word)))
    },
    async showMore() {
      const wanted = mostShown + rowsOfPage
      await loadTo(wanted)
      setMostShown(wanted)
    },
    loadAll() {
      loading.current ??= loadTo(Number.POSITIVE_INFINITY).finally(() => {
        loading.current = null
      })
      return loading.current
    },
  }
}

function textOf({ bookmark }: DeletedBookmark): string {
  if (!bookmark) return ''
  const { title, url, description, tags } = bookmark
  const texts = [title, url, description, ...(Array.isArray(tags) ? tags : [])]
  return wordsOf(texts.filter(Boolean).join(' ')).join(' ')
}

function groupByFolder(deleted: readonly DeletedBookmark[]): Map<string | undefined, Bookmark[]> {
  const bookmarks = deleted.flatMap(({ bookmark }) => bookmark ?? [])
  return Map.groupBy(bookmarks, ({ parentId }) => parentId)
}
