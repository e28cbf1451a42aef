/**
 * Prints the test runner's own counts from its output files, added up: `N passed, N failed`, and `, N skipped` where some
 * were. Exits 1 when a file is missing or incomplete, when a test failed, or when none ran.
 *
 *   node scripts/count-tests.ts .tap/sqlite.tap .tap/postgres.tap .tap/recorded.tap
 */
import { readFileSync } from 'node:fs'

const paths = process.argv.slice(2)
try {
  if (paths.length === 0) throw new Error('Usage: node scripts/count-tests.ts FILE ...')
  const counts = paths.map((path) => count(path, readFileSync(path, 'utf8')))
  const sum = (name: 'passed' | 'failed' | 'skipped') => counts.reduce((total, each) => total + each[name], 0)
  const [passed, failed, skipped] = [sum('passed'), sum('failed'), sum('skipped')]
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  if (failed > 0) process.exitCode = 1
  else if (passed === 0) throw new Error('No test ran')
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

/** tap ends its output with `# { total: 7, pass: 4, fail: 1, todo: 1, skip: 1 }` and the time; counts of 0 may be left out. */
function count(path: string, output: string): { passed: number; failed: number; skipped: number } {
  const [, summary] = /(?:^|\n)# \{ (.*) \}\n# time=\S+\s*$/.exec(output.slice(-1000)) ?? []
  if (summary === undefined) throw new Error(`${path} is incomplete: tap's summary is missing at its end`)
  if (/^Bail out!/m.test(output)) throw new Error(`${path} is incomplete: the tests were given up`)
  const counts = new Map(Array.from(summary.matchAll(/(\w+): (\d+)/g), ([, name, value]) => [name, Number(value)]))
  const of = (name: string) => counts.get(name) ?? 0
  // A file that ended badly fails, and tap does not always count that as an assertion.
  const failedFiles = output.match(/^not ok /gm)?.length ?? 0
  return { passed: of('pass'), failed: Math.max(of('fail'), failedFiles), skipped: of('skip') + of('todo') }
}
