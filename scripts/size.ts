/** `npm run size`, part of `npm run check`. */
import { readFile } from 'node:fs/promises'
import { command, run } from '../src/service/terminal/command.ts'
import type { Budget } from './package/size-of.ts'

const file = new URL('../size-budget.json', import.meta.url)

await run(
  command(
    'size',
    'Compares how many bytes of the client package an app loads with the budgets in size-budget.json.',
    'The exit status is 1 if a budget is exceeded.',
  ).action(async () => {
    const { limitOf, sizeOf } = await import('./package/size-of.ts')
    const budgets = JSON.parse(await readFile(file, 'utf8')) as Budget[]
    let isOver = false
    for (const budget of budgets) {
      const bytes = await sizeOf(budget)
      console.log(`${budget.what}: ${bytes} of ${limitOf(budget)} bytes`)
      isOver ||= bytes > limitOf(budget)
    }
    if (isOver) throw new Error('The client package is over its size budget (size-budget.json)')
  }),
)
