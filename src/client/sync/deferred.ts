/** The code that `start` loads after an app's first bundle. Showing bookmarks, `put`, `update` and `remove` do not need it. */
export { importList } from './edits/import.ts'
export { moveBookmarks } from './edits/move.ts'
export * from './exchanging.ts'
export { Search } from './search/search.ts'
