/** `npm test`. */
import { command, run } from '../src/service/terminal/command.ts'
import { planTests } from './test/plan.ts'

await run(
  command(
    'test',
    'Runs all tests in a few parallel processes, on SQLite and on a Postgres that it starts itself.',
    'tap counts the results and writes its output to .tap/tests.tap. NOT TESTED marks tests that need a program this machine lacks.',
  )
    .argument('[file...]', 'runs these test files only')
    .option('--deep', 'adds the costliest tests, with large numbers: 1,000 random walks, 50 times kill -9, 1 GB')
    .action(async (files: string[], { deep }: { deep?: true }) => {
      const depth = deep ? 'deep' : 'quick'
      const plan = await planTests(files, depth)
      await (await import('./test/run.ts')).runTests(plan, depth, files.length === 0)
    }),
)
