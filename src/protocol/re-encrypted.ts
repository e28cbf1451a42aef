const mark = /~\d{3}$/

/** The event id of the original edit: each re-encryption appends `~` and the number of rotations in three digits. */
export function editOf(eventId: string): string {
  return eventId.replace(mark, '')
}

/** True if one event re-encrypts the other after a key rotation, so nobody has edited anything. */
export function isReencrypted(later: string, earlier: string): boolean {
  return later !== earlier && mark.test(later) && editOf(later) === editOf(earlier)
}
