/** True in the bundle, where `npm run build` put the programs and their files beside each other. */
export const isBundle = import.meta.filename.endsWith('.mjs')
