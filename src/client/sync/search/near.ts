/** The fewest letters of a word that is also found inside another one: a shorter word would match too much. */
const leastInside = 7

/**
 * Finds where the text has the word with at most one mistake: a wrong, extra or missing letter, or two that changed
 * places. Prefers the start of a word of the text; only there, short words count. -1 if there is none.
 */
export function nearIndex(text: string, word: string): number {
  let inside = -1
  for (const at of nearPlaces(text, word)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text.charAt(at - 1))) return at
    if (inside === -1 && word.length >= leastInside) inside = at
  }
  return inside
}

/** If there is a mistake, one half of the word still matches exactly, unless the two letters in the middle changed places. */
function* nearPlaces(text: string, word: string): Generator<number> {
  const middle = word.length >> 1
  const [head, tail] = [word.slice(0, middle), word.slice(middle)]
  for (const at of placesOf(text, head)) if (follows(text, at + middle, tail)) yield at
  for (const at of placesOf(text, tail)) yield* before(text, at, head)
  yield* placesOf(
    text,
    `${word.slice(0, middle - 1)}${word.charAt(middle)}${word.charAt(middle - 1)}${word.slice(middle + 1)}`,
  )
}

function* placesOf(text: string, part: string): Generator<number> {
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) yield at
}

/** True if the part follows at `start` with at most one mistake. */
function follows(text: string, start: number, part: string): boolean {
  let at = 0
  while (at < part.length && text[start + at] === part[at]) at++
  const here = start + at
  return (
    text.startsWith(part.slice(at + 1), here) ||
    text.startsWith(part.slice(at + 1), here + 1) ||
    text.startsWith(part.slice(at), here + 1) ||
    (text[here] === part[at + 1] && text[here + 1] === part[at] && text.startsWith(part.slice(at + 2), here + 2))
  )
}

/** Yields the starts of texts that end at `end` and match the part with at most one mistake. */
function* before(text: string, end: number, part: string): Generator<number> {
  let left = part.length
  let here = end
  while (left > 0 && text[here - 1] === part[left - 1]) {
    left--
    here--
  }
  const rest = part.slice(0, Math.max(0, left - 1))
  if (here > 0 && text.endsWith(rest, here - 1)) yield here - 1 - rest.length
  if (text.endsWith(rest, here)) yield here - rest.length
  if (here > 0 && text.endsWith(part.slice(0, left), here - 1)) yield here - 1 - left
  const isSwapped = left > 1 && text[here - 1] === part[left - 2] && text[here - 2] === part[left - 1]
  if (isSwapped && text.endsWith(part.slice(0, left - 2), here - 2)) yield here - left
}
