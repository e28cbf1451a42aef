import type { EntityType } from '../../client/bookmark.ts'

/** Storage key. Set if the person wants the browsing history here: the page downloads and stores it only then. */
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
