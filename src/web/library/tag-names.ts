/** Normalizes a typed tag: Unicode form NFC, single spaces, no commas, and no # at its start. */
export function tagName(typed: string): string {
  return typed
    .normalize('NFC')
    .replace(/[\s,]+/g, ' ')
    .trim()
    .replace(/^#[#\s]*/, '')
}

/** A key that is the same for tags that differ only in case, or in what `tagName` normalizes. */
export function tagKey(tag: string): string {
  return tagName(tag).toLowerCase()
}

/** The spelling of an existing tag that differs only in case, or else the typed one. */
export function spelled(typed: string, known: readonly string[]): string {
  const name = tagName(typed)
  if (known.includes(name)) return name
  const key = tagKey(name)
  return known.find((tag) => tagKey(tag) === key) ?? name
}

/** Adds tags. A tag that exists in another spelling stays as it is. */
export function withTags(tags: readonly string[], added: readonly string[]): string[] {
  const keys = new Set(tags.map(tagKey))
  return [...tags, ...added.filter((tag) => keys.size < keys.add(tagKey(tag)).size)]
}
