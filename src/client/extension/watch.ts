import { Emitter } from '../sync/store/emitter.ts'
import type { BookmarksApi, BrowserNode } from './platform.ts'

/** What the browser says about its bookmarks: only that it is worth looking at them. */
export interface BookmarkWatch {
  /** While the browser imports, nothing is looked at. */
  readonly isImporting: boolean
  /** The browser's ids of what was created in this life of the worker. */
  readonly created: ReadonlySet<string>
  /** The browser's ids of what was changed or moved in this life of the worker. */
  readonly touched: ReadonlySet<string>
  /** What was removed in this life of the worker. */
  readonly removed: readonly BrowserNode[]
  /** Returns a function that removes the listener. */
  on(event: 'change', listener: () => void): () => void
}

/**
 * Listens to the browser's bookmarks. An extension's worker must call it at once when it starts: only then does the browser
 * start the worker for a change.
 */
export function watchBookmarks(api: Pick<BookmarksApi, Extract<keyof BookmarksApi, `on${string}`>>): BookmarkWatch {
  const emitter = new Emitter<{ change: undefined }>()
  let isImporting = false
  const created = new Set<string>()
  const touched = new Set<string>()
  const removed: BrowserNode[] = []
  const tell = () => emitter.emit('change', undefined)
  api.onCreated.addListener((id) => {
    created.add(id)
    tell()
  })
  api.onRemoved.addListener((_id, { node }) => {
    if (node) removed.push(node)
    tell()
  })
  for (const event of [api.onChanged, api.onMoved]) {
    event.addListener((id) => {
      touched.add(id)
      tell()
    })
  }
  api.onChildrenReordered?.addListener(tell)
  api.onImportBegan?.addListener(() => {
    isImporting = true
  })
  api.onImportEnded?.addListener(() => {
    isImporting = false
    tell()
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
