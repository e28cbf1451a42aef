import type { Test } from 'tap'

/** How thorough the tests are: `npm test -- --deep` sets TEST_DEPTH. */
export const isDeep = process.env.TEST_DEPTH === 'deep'

/** `t.test` with --deep; otherwise nothing. For variations of another test, and for what a cheaper one proves, too. */
export function deep(t: Test, name: string, work: (t: Test) => unknown): unknown {
  return isDeep ? t.test(name, work) : undefined
}

/** `t.test`, but on Postgres only with --deep. For what does not depend on the database. */
export function onSqlite(t: Test, name: string, work: (t: Test) => unknown): unknown {
  return process.env.TEST_POSTGRES ? deep(t, name, work) : t.test(name, work)
}

/** Chooses the smaller number, which proves the same in less time, unless the tests are deep. */
export function depth(quick: number, deep: number): number {
  return isDeep ? deep : quick
}
