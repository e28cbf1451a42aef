/** The views of tab groups and history: one file, because each more would divide what the page begins with. */
export { Groups } from '../groups/view.tsx'
export { Visits } from '../visits/view.tsx'
