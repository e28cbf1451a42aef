/** The code outside of an app's first bundle: the sync loads it at `start`, while the page already shows stored bookmarks. */
export { importList } from './edits/import.ts'
export { moveBookmarks } from './edits/move.ts'
export * from './exchanging.ts'
export { Search } from './search/search.ts'
