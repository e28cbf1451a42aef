/** `npm run conform`. */
import { Option } from 'commander'
import { command, positiveInteger, run, UsageError } from '../src/service/terminal/command.ts'

interface Options {
  clients?: boolean
  strict?: boolean
  examples: number
}

await run(
  command(
    'conform',
    "Starts the service and runs all phases of schemathesis on openapi.yaml, signed out, as a user and as another user. Then it looks for the first user's data in the responses to the others.",
    'With --clients it generates clients in other languages instead, builds them, and runs the story of scripts/conform/stories/README.md with each.',
  )
    .argument('[tool...]', 'with --clients: only the clients of these tools')
    .option('--clients', 'tests generated clients')
    .option('--strict', 'with --clients: fails if the machine lacks a tool')
    .addOption(
      new Option('--examples <number>', 'cases for each operation and phase')
        .default(400)
        .env('EXAMPLES')
        .argParser(positiveInteger),
    )
    .action(async (tools: string[], { clients, strict = false, examples }: Options) => {
      if (!clients && (strict || tools.length > 0)) throw new UsageError('tools and --strict are for --clients')
      const { conformService, conformToClients } = await import('./conform/run.ts')
      const passes = clients ? await conformToClients(tools, strict) : await conformService(examples)
      console.log(passes ? '\nAll of it passes.' : '\nNot all of it passes: see above.')
      if (!passes) process.exitCode = 1
    }),
)
