import { existsSync, statSync } from 'node:fs'
import { pino } from 'pino'
import { checkIntegrity } from '../backup/database.ts'
import { readConfig } from '../config/config.ts'
import { sqliteFile } from '../config/storage.ts'
import { ConfigError } from '../config/values.ts'
import type { Database } from '../db/engine/database.ts'
import { lockDatabase } from '../db/engine/sqlite/open.ts'
import { requireOwn } from '../db/for-command.ts'
import { openDatabase } from '../db/open.ts'
import { beginEpoch } from '../db/tables/epoch.ts'
import { commandLine, operatorCommand } from '../terminal/command.ts'

export const restoredCommand = operatorCommand(
  'restored',
  'Makes devices send again what a recovered database has lost.',
  'Run it after you have recovered a backup, or after a failover that lost changes, before a service starts on the database. It is not needed after ebs restore, or for a copy by ebs backup, because both do it by themselves.',
)
  .option('--yes', 'begins it even if the database has no users')
  .action(beginNewEpoch)

/** Requires an existing schema: without one, the backup was restored to another database than the configured one. */
async function beginNewEpoch({ yes }: { yes?: true }): Promise<void> {
  const { directUrl } = readConfig(process.env).databaseServer
  const log = pino({ level: 'silent' })
  const file = sqliteFile(directUrl)
  if (file !== undefined && existsSync(file)) await requireOneFile(file)
  await requireOwn(directUrl, log)
  const database = await openDatabase(directUrl, log)
  try {
    if (!yes) await requireUsers(database)
    console.log(`epoch ${await beginEpoch(database)}: devices will send again what this database has lost`)
    console.log('Now start the service.')
  } finally {
    await database.close()
  }
}

/** Refuses a damaged file, and one next to the log of another: SQLite would write that log into it. */
async function requireOneFile(file: string): Promise<void> {
  const lock = await lockDatabase(file)
  try {
    const bytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
    if (bytes > 0) {
      throw new ConfigError(
        `DATABASE_URL: ${file}-wal would be written into ${file}: if it is of the database that was there before, remove it and ${file}-shm; if both files are of one snapshot, run ${commandLine('admin', 'check')}, which makes them one; then run this again`,
      )
    }
    await checkIntegrity(file, `DATABASE_URL: ${file}`)
  } finally {
    lock.close()
  }
}

/** Refuses what an interrupted recovery, or one to another database, would leave. */
async function requireUsers({ db }: Database): Promise<void> {
  const user = await db.selectFrom('users').select('id').limit(1).executeTakeFirst()
  if (user === undefined)
    throw new ConfigError('DATABASE_URL: the database has no users: was the backup loaded into it? If so, add --yes')
}
