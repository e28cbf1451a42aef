import { Emitter } from '../client/sync/store/emitter.ts'
import type { BookmarkEventInfo, BookmarksApi, BrowserNode } from './platform.ts'

/** What an event of the browser is about. */
export interface Touched {
  /** Of the node; undefined if it may be any. */
  id?: string
  /** The ids of the folders around it, now and before; none if the browser does not say. */
  folders?: string[]
  isRemoved?: true
}

/**
 * What the browser says about its bookmarks: only that it is worth looking at them. What it has said in this life of the worker
 * is forgotten once it is known that nothing of the life before is unfinished.
 */
export interface BookmarkWatch {
  /** While the browser imports, nothing is looked at. */
  readonly isImporting: boolean
  /** The browser's ids of what was created. */
  readonly created: Set<string>
  /** The browser's ids of what was changed or moved. */
  readonly touched: Set<string>
  /** What was removed. */
  readonly removed: BrowserNode[]
  /** Returns a function that removes the listener. */
  on(event: 'change', listener: (touched: Touched) => void): () => void
}

/**
 * Listens to the browser's bookmarks. An extension's worker must call it at once when it starts: only then does the browser
 * start the worker for a change.
 */
export function watchBookmarks(api: Pick<BookmarksApi, Extract<keyof BookmarksApi, `on${string}`>>): BookmarkWatch {
  const emitter = new Emitter<{ change: Touched }>()
  let isImporting = false
  const created = new Set<string>()
  const touched = new Set<string>()
  const removed: BrowserNode[] = []
  const tell = (touched: Touched) => emitter.emit('change', touched)
  const foldersOf = ({ parentId, oldParentId }: BookmarkEventInfo) =>
    [parentId, oldParentId].filter((folder) => folder !== undefined)
  api.onCreated.addListener((id, info) => {
    created.add(id)
    tell({ id, folders: foldersOf(info) })
  })
  api.onRemoved.addListener((id, info) => {
    if (info.node) removed.push(info.node)
    tell({ id, folders: foldersOf(info), isRemoved: true })
  })
  for (const event of [api.onChanged, api.onMoved]) {
    event.addListener((id, info) => {
      touched.add(id)
      tell({ id, folders: foldersOf(info) })
    })
  }
  api.onChildrenReordered?.addListener((id) => tell({ id, folders: [id] }))
  api.onImportBegan?.addListener(() => {
    isImporting = true
  })
  api.onImportEnded?.addListener(() => {
    isImporting = false
    tell({})
  })
  return {
    get isImporting() {
      return isImporting
    },
    created,
    touched,
    removed,
    on: (event, listener) => emitter.on(event, listener),
  }
}
