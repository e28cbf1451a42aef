const dayMs = 86_400_000

/** A device's clock may be wrong; a time more than 24 h ahead of the server's would win for too long. */
export function isFarAhead(timestamp: number, now: number): boolean {
  return timestamp > now + dayMs
}
