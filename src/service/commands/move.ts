import { readFileSync } from 'node:fs'
import { pino } from 'pino'
import { type Config, readConfig } from '../config/config.ts'
import { databaseUrl, sqliteFile, withoutPassword } from '../config/storage.ts'
import { existingFile, operatorCommand, UsageError } from '../terminal/command.ts'
import { withProgress } from '../terminal/progress.ts'
import { moveDatabase } from '../upkeep/move/move.ts'

export const moveCommand = operatorCommand(
  'move',
  'Copies everything into another, empty database, from SQLite to Postgres or back. The service must not run.',
  'The database so far stays as it is. All that was written is read back. Sessions and devices go on. If it is interrupted, run it again. The exit status is 0 only when the service can be started on the other database.',
)
  .argument(
    '[database-url]',
    'DATABASE_URL of the other database. Everybody on the machine can read an argument: a URL with a password belongs into a file',
  )
  // Read at once, by root: the service's user may not be able to.
  .option('--to-file <file>', 'a file that has it', (path) => readFileSync(existingFile(path), 'utf8').trim())
  .action(async (argument: string | undefined, { toFile }: { toFile?: string }) => {
    const given = argument ?? toFile
    if (!given || (argument !== undefined && toFile !== undefined))
      throw new UsageError('name one database to move to, by its DATABASE_URL or by --to-file')
    await move(readConfig(process.env), parse(given))
  })

function parse(url: string): string {
  try {
    return databaseUrl({ DATABASE_URL: url }, '')
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
  next     start the service; sessions and devices go on
  before   ${file ?? 'the database so far'} is as it was: start nothing on it any more, or both would go on by themselves`)
}
