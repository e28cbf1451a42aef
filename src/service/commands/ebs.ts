/** `ebs COMMAND`, in a checkout `npm run ebs -- COMMAND`: the service, and all commands for operators. */
import type { Command } from 'commander'
import { becomeOwner, requireOwner } from '../config/folders.ts'
import { printFault } from '../printed.ts'
import { command, run, UsageError } from '../terminal/command.ts'

/** Loaded on demand. */
const commands: Record<string, () => Promise<Command>> = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  backup: async () => (await import('./backup.ts')).backupCommand,
  restore: async () => (await import('./restore.ts')).restoreCommand,
  restored: async () => (await import('./restored.ts')).restoredCommand,
  move: async () => (await import('./move.ts')).moveCommand,
  migrate: async () => (await import('./migrate.ts')).migrateCommand,
  reseal: async () => (await import('./reseal.ts')).resealCommand,
  admin: async () => (await import('./admin.ts')).adminCommand,
}

// Only the service's user may read what the commands write.
process.umask(0o077)
const [name = '', ...words] = process.argv.slice(2)
const load = Object.hasOwn(commands, name) ? commands[name] : undefined
if (load) {
  const program = await load()
  program.hook('preAction', () => {
    // `doctor` itself becomes the data's owner, and reports a failure with its other findings.
    if (name === 'doctor') return
    becomeOwner(process.env)
    // If root runs the service itself, root is its user.
    if (name !== 'serve') requireOwner(process.env)
  })
  await run(program, words, name === 'serve' ? (text) => printFault('fatal', text) : undefined)
} else {
  await run(await describeAll())
}

/** The program for a call without a known command: prints the help of all commands, or reports the wrong call. */
async function describeAll(): Promise<Command> {
  const program = command(
    'ebs',
    'Runs the service, or one of its commands.',
    "Each command explains itself with --help, and reads the service's environment variables. Run as root, it becomes the user who owns the SQLite file, or DATA_DIR, so that the service can use whatever it creates. In production, only serve creates data as root. The exit status is 0 on success, 1 on failure, and 2 for a wrong call, which changes nothing.",
  )
    .usage('<command>')
    .argument('[command]')
    .action((given?: string) => {
      const fault = given === undefined ? 'no command' : `there is no command ${given}`
      throw new UsageError(`${fault}: one of ${Object.keys(commands).join(', ')}`)
    })
  const isAsked = name === '--help' || name === '-h'
  const loaded = isAsked
    ? await Promise.all(Object.entries(commands).map(async ([key, of]) => (await of()).name(key)))
    : []
  for (const each of loaded) program.addCommand(each)
  return program.allowExcessArguments()
}
