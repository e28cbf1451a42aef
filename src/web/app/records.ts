/** Joins two views: if each were loaded on its own, the bundler would split the page's first load into more files. */
export { Groups } from '../groups/view.tsx'
export { Visits } from '../visits/view.tsx'
