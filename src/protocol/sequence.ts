/**
 * Where to continue from. A cursor above the user's last sequence number is from a database that was recovered since: what
 * is written now gets smaller numbers, so such a device starts from the beginning.
 */
export function continueFrom(since: number, lastStamp: number): number {
  return since > lastStamp ? 0 : since
}
