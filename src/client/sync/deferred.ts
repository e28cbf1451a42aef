/** The sync's second file: `start` loads it while the page already shows and edits the stored bookmarks. */
export { approveDeletions, rejectDeletions } from './edits/deletions.ts'
export { importList, restoreList } from './edits/import.ts'
export { dropRefused, retryRefused } from './edits/refused.ts'
export { exchange } from './exchange/exchange.ts'
export { explain } from './exchange/explain.ts'
export { lead } from './life/lead.ts'
export { adoptKeys } from './rotation/rotation.ts'
export { Search } from './search/search.ts'
