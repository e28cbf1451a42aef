/** The code that the sync loads at `start`, while the page already shows stored bookmarks. */
export { importList } from './edits/import.ts'
export { moveBookmarks } from './edits/move.ts'
export * from './exchanging.ts'
export { Search } from './search/search.ts'
