/** Joins the views of tab groups and history. Separate files would split the page's first load into more parts. */
export { Groups } from '../groups/view.tsx'
export { Visits } from '../visits/view.tsx'
