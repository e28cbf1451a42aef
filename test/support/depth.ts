/** How thorough the tests are: `npm test -- --deep` sets TEST_DEPTH. */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/** Chooses the smaller number, which proves the same in less time, unless the tests are deep. */
export function depth(quick: number, deep: number): number {
  return isDeep ? deep : quick
}
