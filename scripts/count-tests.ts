/** `node scripts/count-tests.ts .tap/tests.tap`. */
import { readFileSync } from 'node:fs'
import { command, run } from '../src/service/terminal/command.ts'
import { describeCount, readCount } from './test/count.ts'

await run(
  command(
    'count-tests',
    "Prints the counts of a test run from tap's output: `N passed, N failed` and, if any were skipped, `, N skipped`.",
    'The exit status is 1 if the file is missing or incomplete, if a test failed, or if none ran.',
  )
    .argument('<file>', 'what `npm test` has written: .tap/tests.tap')
    .action((path: string) => {
      const count = readCount(path, readFileSync(path, 'utf8'))
      console.log(describeCount(count))
      if (count.failed > 0) process.exitCode = 1
      else if (count.passed === 0) throw new Error('No test ran')
    }),
)
