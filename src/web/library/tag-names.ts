/** A tag's name however somebody types it: in one form of Unicode, with single blanks, and without the # before it. No name has a comma. */
export function tagName(typed: string): string {
  return typed
    .normalize('NFC')
    .replace(/[\s,]+/g, ' ')
    .trim()
    .replace(/^#[#\s]*/, '')
}

/** The same for all spellings of a tag. */
export function tagKey(tag: string): string {
  return tagName(tag).toLowerCase()
}

/** A tag as it is spelled already, whatever way somebody types it. */
export function spelled(typed: string, known: readonly string[]): string {
  const name = tagName(typed)
  if (known.includes(name)) return name
  const key = tagKey(name)
  return known.find((tag) => tagKey(tag) === key) ?? name
}

/** The tags with those that are added. One that is there in another spelling stays as it is. */
export function withTags(tags: readonly string[], added: readonly string[]): string[] {
  const keys = new Set(tags.map(tagKey))
  return [...tags, ...added.filter((tag) => keys.size < keys.add(tagKey(tag)).size)]
}
