import type { PlaintextBookmark } from '../bookmark.ts'

/** A decoder writes this for bytes that are no text in its charset. */
const replacement = '\uFFFD'

function isGarbled(value: unknown): boolean {
  const texts = Array.isArray(value) ? value : [value]
  return texts.some((text) => typeof text === 'string' && text.includes(replacement))
}

export function hasGarbledTitle({ title }: Readonly<PlaintextBookmark>): boolean {
  return isGarbled(title)
}

/**
 * The bookmark with the texts of a legible one in the place of those that were read in the wrong charset; undefined if
 * nothing changes. Both have the same date, or they would not be the same bookmark.
 */
export function withLegibleText(
  garbled: Readonly<PlaintextBookmark>,
  legible: Readonly<PlaintextBookmark>,
): PlaintextBookmark | undefined {
  if (garbled.dateAdded !== legible.dateAdded) return undefined
  const names = (['title', 'description', 'tags', 'folder', 'path'] as const).filter(
    (name) => isGarbled(garbled[name]) && legible[name] !== undefined && !isGarbled(legible[name]),
  )
  if (names.length === 0) return undefined
  return { ...garbled, ...Object.fromEntries(names.map((name) => [name, legible[name]])) }
}
