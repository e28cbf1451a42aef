/** True in the bundle of `npm run build`, where all programs and their files are in one folder. */
export const isBundle = import.meta.filename.endsWith('.mjs')
