// `?later` makes the bundler treat this import as another module than `./en.ts`, so that the page's first load contains
// only the English texts that it needs.

import type { LaterWords } from './en.ts'
import { enLater } from './en.ts?later'
import { inLanguage } from './words.ts'

/** The texts of the views that load when they are shown. */
export const later: LaterWords = await inLanguage('later', enLater)
