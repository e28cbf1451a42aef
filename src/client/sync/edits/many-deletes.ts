const fewDeletes = 5
const smallShare = 0.2

/** Deletes within this time (ms) are counted together. */
export const recentMs = 60_000

/** True if the user must approve the deletes of one pull or minute. @param total the number of bookmarks before them */
export function areManyDeletes(deletes: number, total: number): boolean {
  return deletes > fewDeletes && deletes > smallShare * total
}
