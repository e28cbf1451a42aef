/** How thorough the tests are: `npm test -- --deep` sets TEST_DEPTH. */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/** How often, how many, how much: the smaller number proves the same in less time. */
export function depth(quick: number, deep: number): number {
  return isDeep ? deep : quick
}
