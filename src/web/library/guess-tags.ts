import type { SyncReader } from '../../client/index.ts'
import { fold } from '../../client/sync/search/fold.ts'
import { type Bookmark, hostOf } from './kind.ts'

const maxGuesses = 4
/** Points for the tags of another bookmark: for the same site, for each shared word, and for the same folder. */
const worth = { site: 4, word: 2, folder: 1 }
/** Points for a tag whose name is a word of the title or the site. */
const worthOfName = 6
const leastWorth = 2
/** The fewest letters of a significant word. */
const leastLetters = 4

/** The person's own tags that fit a bookmark, the best first. */
export function guessTags(sync: Pick<SyncReader, 'bookmarks'>, bookmark: Bookmark): string[] {
  const host = hostOf(bookmark)
  const words = new Set([...wordsIn(bookmark.title), ...wordsIn(host)])
  const counts = new Map<string, number>()
  const points = new Map<string, number>()
  const add = (tag: string, worth: number) => points.set(tag, (points.get(tag) ?? 0) + worth)
  for (const other of sync.bookmarks().values()) {
    // Other clients may have written values of any type.
    if (!Array.isArray(other.tags) || other.tags.length === 0 || other.id === bookmark.id) continue
    let fit = bookmark.parentId !== undefined && other.parentId === bookmark.parentId ? worth.folder : 0
    if (host !== '' && other.url?.includes(host) && hostOf(other) === host) fit += worth.site
    for (const word of wordsIn(other.title)) if (words.has(word)) fit += worth.word
    for (const tag of other.tags) {
      counts.set(tag, (counts.get(tag) ?? 0) + 1)
      if (fit > 0) add(tag, fit)
    }
  }
  for (const tag of counts.keys()) if (words.has(fold(tag))) add(tag, worthOfName)
  // The more bookmarks have a tag, the less it says about this one.
  const rank = (tag: string) => (points.get(tag) ?? 0) / Math.sqrt(counts.get(tag) ?? 1)
  return [...points.keys()]
    .filter((tag) => (points.get(tag) ?? 0) >= leastWorth)
    .sort((one, other) => rank(other) - rank(one))
    .slice(0, maxGuesses)
}

function wordsIn(text: unknown): string[] {
  if (typeof text !== 'string') return []
  return fold(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length >= leastLetters)
}
