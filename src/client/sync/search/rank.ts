import type { SearchText } from './text.ts'

/** What a word counts at the start of a word and inside one, by field: title, tags, address, description. */
const ranks: readonly Rank[] = [
  { start: 7, inside: 4 },
  { start: 6, inside: 3 },
  { start: 5, inside: 2 },
  { start: 3, inside: 1 },
]

interface Rank {
  start: number
  inside: number
}

/** What a word counts more if the title begins with it. */
const firstWord = 1

/** What a word counts in the name of a folder around the bookmark. */
export const inFolder = 1

/** How well the word fits; 0 if the text does not contain it. `#word` fits the beginning of a tag, too. */
export function rankOf({ text, starts }: SearchText, word: string): number {
  const tags = text.slice(starts[0], starts[1])
  if (word[0] === '#' && ` ${tags}`.includes(` ${word.slice(1)}`)) return (ranks[1] as Rank).start
  const at = text.indexOf(word)
  if (at === -1) return 0
  let field = 0
  while (at >= (starts[field] ?? text.length)) field++
  const { start, inside } = ranks[field] as Rank
  if (at === 0) return start + firstWord
  const end = starts[field] ?? text.length
  for (let next = at; next !== -1 && next < end; next = text.indexOf(word, next + 1)) {
    if (!/[\p{L}\p{N}]/u.test(text.charAt(next - 1))) return start
  }
  return inside
}
