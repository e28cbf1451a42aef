import type { PlaintextBookmark } from '../../../src/client/bookmark.ts'

/** Part of a bookmark with a field that only newer versions of the client know, and that all must keep. */
export function withNewer(newer: Record<string, string>): Partial<PlaintextBookmark> {
  return { newer } as Partial<PlaintextBookmark>
}

export function newerOf(bookmark: Partial<PlaintextBookmark>): Record<string, string> {
  return (bookmark as { newer?: Record<string, string> }).newer ?? {}
}
