/**
 * Prints the test runner's own counts from its output file: `N passed, N failed`, and `, N skipped` where some were.
 * Exits 1 when the file is missing or incomplete, when a test failed, or when none ran.
 *
 *   node scripts/count-tests.ts .tap/results.tap
 */
import { readFileSync } from 'node:fs'

const [path] = process.argv.slice(2)
try {
  if (path === undefined) throw new Error('Usage: node scripts/count-tests.ts FILE')
  const { passed, failed, skipped } = count(readFileSync(path, 'utf8'))
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  if (failed > 0) process.exitCode = 1
  else if (passed === 0) throw new Error('No test ran')
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

/** tap ends its output with `# { total: 7, pass: 4, fail: 1, todo: 1, skip: 1 }` and the time; counts of 0 may be left out. */
function count(output: string): { passed: number; failed: number; skipped: number } {
  const [, summary] = /(?:^|\n)# \{ (.*) \}\n# time=\S+\s*$/.exec(output.slice(-1000)) ?? []
  if (summary === undefined) throw new Error(`${path} is incomplete: tap's summary is missing at its end`)
  if (/^Bail out!/m.test(output)) throw new Error(`${path} is incomplete: the tests were given up`)
  const counts = new Map(Array.from(summary.matchAll(/(\w+): (\d+)/g), ([, name, value]) => [name, Number(value)]))
  const of = (name: string) => counts.get(name) ?? 0
  // A file that ended badly fails, and tap does not always count that as an assertion.
  const failedFiles = output.match(/^not ok /gm)?.length ?? 0
  return { passed: of('pass'), failed: Math.max(of('fail'), failedFiles), skipped: of('skip') + of('todo') }
}
