const fewDeletes = 5
const smallShare = 0.2

/** Deletes that follow each other within this time are judged together. */
export const recentMs = 60_000

/** True if the user must approve this many deletes of one pull or one minute. @param of how many bookmarks there were */
export function areManyDeletes(deletes: number, of: number): boolean {
  return deletes > fewDeletes && deletes > smallShare * of
}
