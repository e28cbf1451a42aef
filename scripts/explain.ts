/** `npm run explain`. */
import { operations } from '../generated/operations.ts'
import { command, run, UsageError } from '../src/service/terminal/command.ts'

await run(
  command(
    'explain',
    'Shows what the service does for one request: the functions that it enters, its statements, and where the time goes.',
    [
      "It starts the service on an empty folder and sends the contract's example, after the requests that it needs, until the",
      'code is warm. Then it counts the files and functions of src/ that the next request enters.',
    ].join(' '),
  )
    .argument('[operationId...]', 'operations of openapi.yaml')
    .option('--postgres', 'uses a Postgres that it starts itself, instead of SQLite')
    .option('--all', 'prints a table of all operations')
    .action(async (named: string[], { postgres = false, all = false }: { postgres?: boolean; all?: boolean }) => {
      const unknown = named.find((name) => !Object.hasOwn(operations, name))
      if (unknown)
        throw new UsageError(`there is no operation ${unknown}; openapi.yaml has ${Object.keys(operations).join(', ')}`)
      if (all === named.length > 0) throw new UsageError('name an operation, such as pushChanges, or --all')
      const { explain, explainAll } = await import('./explain/print.ts')
      await (all ? explainAll(postgres) : explain(named as never, postgres))
    }),
)
