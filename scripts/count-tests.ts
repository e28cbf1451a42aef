/**
 * Prints the counts of a test run from tap's output: `N passed, N failed` and, if any were skipped, `, N skipped`. Exits
 * with 1 if the file is missing or incomplete, if a test failed, or if none ran.
 *
 *   node scripts/count-tests.ts .tap/tests.tap
 */
import { readFileSync } from 'node:fs'
import { describeCount, readCount } from './test/count.ts'

try {
  const [path] = process.argv.slice(2)
  if (path === undefined) throw new Error('Usage: node scripts/count-tests.ts FILE')
  const count = readCount(path, readFileSync(path, 'utf8'))
  console.log(describeCount(count))
  if (count.failed > 0) process.exitCode = 1
  else if (count.passed === 0) throw new Error('No test ran')
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
