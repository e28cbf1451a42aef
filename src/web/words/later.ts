// The query makes the bundler take it for another file: the page's first load has only that part of English which it
// begins with.

import type { LaterWords } from './en.ts'
import { enLater } from './en.ts?later'
import { inLanguage } from './words.ts'

/** The texts of the views that load when they are shown. */
export const later: LaterWords = await inLanguage('later', enLater)
