import type { EntityType } from '../../client/bookmark.ts'

/** Stored if this browser shows the person's browsing history: only then is it downloaded, and kept on this disk. */
const placeOf = (userId: string) => `shows-visits-${userId}`

export function showsVisits(userId: string): boolean {
  return localStorage.getItem(placeOf(userId)) !== null
}

export function noteVisits(userId: string, areShown: boolean): void {
  if (areShown) localStorage.setItem(placeOf(userId), 'true')
  else localStorage.removeItem(placeOf(userId))
}

/** The entity types that this browser downloads. */
export function typesOf(userId: string): EntityType[] {
  return ['bookmark', 'group', ...(showsVisits(userId) ? (['history'] as const) : [])]
}
