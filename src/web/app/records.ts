/** The views of tab groups and history share a file: two files would split the page's first load further. */
export { Groups } from '../groups/view.tsx'
export { Visits } from '../visits/view.tsx'
