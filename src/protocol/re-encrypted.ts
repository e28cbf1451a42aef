const mark = /~\d{3}$/

/** The edit that an event id names: re-encrypting it appends `~` and the number of rotations in three digits. */
export function editOf(eventId: string): string {
  return eventId.replace(mark, '')
}

/** True if one event is the other re-encrypted after a rotation of the keys: nobody has edited anything. */
export function isReencrypted(later: string, earlier: string): boolean {
  return later !== earlier && mark.test(later) && editOf(later) === editOf(earlier)
}
