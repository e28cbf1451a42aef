import { isRemovedPage } from '../../client/bookmark/removed-page.ts'
import type { PlaintextBookmark, Sync } from '../../client/index.ts'

/** A sync whose `bookmarks` are the tab groups or the history, so that search, edits and undo work for these, too. */
export function recordsOf(sync: Sync, type: 'groups' | 'history'): Sync {
  const { records, search, ...own } = sync[type]
  const isShown = (record: Readonly<PlaintextBookmark>) => type === 'groups' || !isRemovedPage(record)
  const on: Sync['on'] = (event, listener) => sync.on(event === 'change' ? type : event, listener as () => void)
  return {
    ...sync,
    ...own,
    bookmarks: () => new Map([...records()].filter(([, record]) => isShown(record))),
    search: async (query, options) => (await search(query, options)).filter(isShown),
    on,
  }
}
