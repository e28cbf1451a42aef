import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { type Config, readConfig } from '../config/config.ts'
import { requireDatabaseUrl, sqliteFile, withoutPassword } from '../config/storage.ts'
import { existingFile, operatorCommand, UsageError } from '../terminal/command.ts'
import { withProgress } from '../terminal/progress.ts'
import { moveDatabase } from '../upkeep/move/move.ts'

export const moveCommand = operatorCommand(
  'move',
  'Copies everything into another, empty database, from SQLite to Postgres or back. The service must not run.',
  'The old database is not changed. Everything that was written is read back. Sessions stay valid, and devices continue. If the command is interrupted, run it again. The exit status is 0 only if the service can start on the other database.',
)
  .argument(
    '[database-url]',
    'DATABASE_URL of the other database. Everybody on the machine can read an argument: put a URL with a password into a file',
  )
  // Read immediately, as root: the service's user may not have access.
  .option('--to-file <file>', 'a file that contains the URL', (path) => readFileSync(existingFile(path), 'utf8').trim())
  .hook('preAction', ({ args: [argument] }, called) => void targetOf(argument, called.opts()))
  .action((argument: string | undefined, options: Target) => move(readConfig(process.env), targetOf(argument, options)))

interface Target {
  toFile?: string
}

function targetOf(argument: string | undefined, { toFile }: Target): string {
  const url = argument ?? toFile
  if (url === undefined || (argument !== undefined && toFile !== undefined))
    throw new UsageError('name one database to move to, by its DATABASE_URL or by --to-file')
  try {
    requireDatabaseUrl(argument === undefined ? '--to-file: the URL' : 'the URL', url)
    return url
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

async function move(config: Config, to: string): Promise<void> {
  const log = pino({ level: 'silent' })
  const rows = await withProgress(({ report }) => moveDatabase(config.databaseServer.directUrl, to, log, report))
  const counts = Object.entries(rows).map(([table, count]) => `${table} ${count}`)
  const file = sqliteFile(config.databaseUrl)
  const isToServer = sqliteFile(to) === undefined
  const others = [
    isToServer && config.backup.everyMs !== undefined && 'remove BACKUP_EVERY, because Postgres has tools of its own',
    !isToServer && file === undefined && 'remove PULSE_DATABASE_URL, PULSE_URL and their _FILE',
    !isToServer && config.backup.everyMs === undefined && 'set BACKUP_EVERY=1d',
  ].filter(Boolean)
  console.log(`everything is in ${withoutPassword(to) ?? to}
  checked  ${counts.join(', ')}: what was written is what was read
  set      DATABASE_URL, or the file of DATABASE_URL_FILE, to that${others.map((each) => `; ${each}`).join('')}
  next     start the service; sessions and devices continue
  before   ${file ?? 'the old database'} is unchanged: start no service on it any more, or the two would diverge`)
}
