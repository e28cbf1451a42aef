const dayMs = 86_400_000

/** A device's clock may be wrong; a time more than 24 h ahead of the service's would win for too long. Both in Unix ms. */
export function isFarAhead(timestamp: number, serverTime: number): boolean {
  return timestamp > serverTime + dayMs
}
