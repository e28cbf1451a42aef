/** The views of tab groups and history in one file: another would split the page's first load further. */
export { Groups } from '../groups/view.tsx'
export { Visits } from '../visits/view.tsx'
