// The query makes the bundler treat this import as another file, so that the page's first load has only the English
// texts that it needs.

import type { LaterWords } from './en.ts'
import { enLater } from './en.ts?later'
import { inLanguage } from './words.ts'

/** The texts of the views that load when they are shown. */
export const later: LaterWords = await inLanguage('later', enLater)
