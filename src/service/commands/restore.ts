/** `npm run restore -- BACKUP`, in the bundle `node restore.mjs BACKUP`. */
import { command, run } from '../terminal/command.ts'

await run(
  command(
    'restore',
    'Puts a backup in the place of the database, after trying a copy of it. The service must not run.',
    "The database so far is kept. The exit status is 0 only when the service can be started on what was restored. The command reads the service's environment variables.",
  )
    .argument('<backup>', 'a folder, or the name of a backup in BACKUP_TO, or latest')
    .action(async (backup: string) => (await import('./restore/restore.ts')).restore(backup)),
)
