const mark = /~\d{3}$/

/** The event id of the original edit. Re-encryptions usually add `~` and the number of rotations (3 digits). */
export function editOf(eventId: string): string {
  return eventId.replace(mark, '')
}

/** True if `later` re-encrypts `earlier` after a key rotation, and so is not an edit. */
export function isReencrypted(later: string, earlier: string): boolean {
  return later !== earlier && mark.test(later) && editOf(later) === editOf(earlier)
}
