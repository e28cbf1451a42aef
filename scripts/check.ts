/** `npm run check`. */
import { spawnSync } from 'node:child_process'
import { styleText } from 'node:util'
import { command, run } from '../src/terminal/command.ts'

/** In this order: what is fast and often wrong comes first. npm has put the programs of the packages into PATH. */
const steps: readonly (readonly [program: string, ...args: string[]])[] = [
  ['biome', 'check'],
  ['tsc'],
  ['depcruise', 'src', 'scripts', 'generated'],
  ['redocly', 'lint'],
  ['node', 'scripts/contract/generate.ts', '--check'],
  ['knip'],
  ['node', 'scripts/package/size.ts'],
]

await run(
  command(
    'check',
    'Checks everything that needs no run: style, types, imports, the contract, generated/, what is unused, the sizes.',
    `It ends at the first of these that finds something, with its status:\n${steps.map((step) => `  ${step.join(' ')}`).join('\n')}`,
  ).action(() => {
    for (const [program, ...args] of steps) {
      console.log(styleText('bold', `\n${[program, ...args].join(' ')}`))
      const { status, error } = spawnSync(program, args, { stdio: 'inherit' })
      if (error) throw new Error(`${program} cannot be started: call it by \`npm run check\``, { cause: error })
      if (status !== 0) {
        process.exitCode = status ?? 1
        return
      }
    }
  }),
)
