/** `npm run backup -- FOLDER`, in the bundle `node backup.mjs FOLDER`. */
import { command, run } from '../terminal/command.ts'

await run(
  command(
    'backup',
    'Copies the database and the export files into a new folder while the service runs, and checks the copy.',
    "The folder is a DATA_DIR. The exit status is 0 only when the copy is complete and on disk. For a database in Postgres the command says what to run instead. It reads the service's environment variables.",
  )
    .argument('<folder>', 'where the copy goes: a folder that is not there yet')
    .action(async (folder: string) => (await import('./backup/back-up.ts')).backUp(folder)),
)
