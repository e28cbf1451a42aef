import type { Sync } from '../../client/index.ts'

/** Tab groups or the history in the place of bookmarks: for searching, editing and undoing. */
export function recordsOf(sync: Sync, type: 'groups' | 'history'): Sync {
  const { records, ...own } = sync[type]
  const on: Sync['on'] = (event, listener) => sync.on(event === 'change' ? type : event, listener as () => void)
  return { ...sync, ...own, bookmarks: records, on }
}
