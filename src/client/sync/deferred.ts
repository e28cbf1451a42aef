/** The sync's second file. `start` loads it while the page already shows and edits stored bookmarks. */
export { importList } from './edits/import.ts'
export { moveBookmarks } from './edits/move.ts'
export * from './exchanging.ts'
export { Search } from './search/search.ts'
