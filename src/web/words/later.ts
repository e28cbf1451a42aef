// By the query, the bundler takes it for another file: the page's first load has only that part of English which it begins with.

import type { LaterWords } from './en.ts'
import { enLater } from './en.ts?later'
import { inLanguage } from './words.ts'

/** What the views say that load when they are shown. */
export const later: LaterWords = await inLanguage('later', enLater)
