import type { PlaintextBookmark } from '../bookmark.ts'

/** Decoders replace bytes that are not valid in the charset by this character. */
const replacement = '\uFFFD'
const texts = ['title', 'description', 'tags', 'folder', 'path'] as const

function isGarbled(value: unknown): boolean {
  const all = Array.isArray(value) ? value : [value]
  return all.some((text) => typeof text === 'string' && text.includes(replacement))
}

export function hasGarbledTitle({ title }: Readonly<PlaintextBookmark>): boolean {
  return isGarbled(title)
}

export function hasGarbledText(bookmark: Readonly<PlaintextBookmark>): boolean {
  return texts.some((name) => isGarbled(bookmark[name]))
}

/**
 * Replaces texts that were decoded with the wrong charset by those of a legible copy. Undefined if nothing changes, or if
 * `dateAdded` differs: then they may be different bookmarks.
 */
export function withLegibleText(
  garbled: Readonly<PlaintextBookmark>,
  legible: Readonly<PlaintextBookmark>,
): PlaintextBookmark | undefined {
  if (garbled.dateAdded !== legible.dateAdded) return undefined
  const names = texts.filter(
    (name) => isGarbled(garbled[name]) && legible[name] !== undefined && !isGarbled(legible[name]),
  )
  if (names.length === 0) return undefined
  return { ...garbled, ...Object.fromEntries(names.map((name) => [name, legible[name]])) }
}
