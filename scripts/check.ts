/** `npm run check`. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { command, run } from '../src/service/terminal/command.ts'

type Step = readonly [program: string, ...args: string[]]

/** Fast steps that often fail come first. npm puts the programs of packages, such as `biome`, into PATH. */
const steps: readonly Step[] = [
  ['biome', 'check'],
  ['depcruise', 'src', 'scripts', 'bench', 'generated'],
  ['node', 'scripts/check/names.ts'],
  ['node', 'scripts/check/patterns.ts'],
  ['node', 'scripts/check/words.ts'],
  ['node', 'scripts/check/comments.ts'],
  ['node', 'scripts/check/prose.ts'],
  ['node', 'scripts/check/lines.ts'],
  ['node', 'scripts/release.ts', '--check'],
  ['redocly', 'lint'],
  ['node', 'scripts/generate.ts', '--check'],
  ['knip'],
  ['node', 'scripts/size.ts'],
]
/** The type check. Names TypeScript 7 by path, because `tsc` may be 5.9, which openapi-typescript needs. */
const typeCheck: Step = ['node', 'node_modules/typescript-7/bin/tsc', '-b', 'tsconfig.programs.json']

await run(
  command(
    'check',
    'Checks everything that tests do not: style, types, imports, the contract, generated/, unused code, texts, sizes.',
    [
      'It stops at the first step that fails, with the status of that step:',
      ...[...steps, typeCheck].map((step) => `  ${step.join(' ')}`),
      'The last one runs in parallel.',
    ].join('\n'),
  ).action(async () => {
    const last = start(typeCheck, 'pipe')
    const outcome = Promise.all([text(last.stdout as NonNullable<typeof last.stdout>), statusOf(last)])
    // A failure is reported where `outcome` is awaited. Without this, it would end the process before.
    outcome.catch(() => {})
    for (const step of steps) {
      printName(step)
      process.exitCode = await statusOf(start(step, 'inherit'))
      if (process.exitCode === 0) continue
      last.kill()
      return
    }
    printName(typeCheck)
    const [found, status] = await outcome
    process.stdout.write(found)
    process.exitCode = status
  }),
)

function start([program, ...args]: Step, output: 'inherit' | 'pipe'): ChildProcess {
  return spawn(program, args, { stdio: ['ignore', output, 'inherit'] })
}

async function statusOf(running: ChildProcess): Promise<number> {
  try {
    const [status] = await once(running, 'close')
    return status ?? 1
  } catch (cause) {
    throw new Error(`${running.spawnfile} cannot be started: call it by \`npm run check\``, { cause })
  }
}

function printName(step: Step): void {
  console.log(styleText('bold', `\n${step.join(' ')}`))
}
