import { pino } from 'pino'
import { readConfig } from '../config/config.ts'
import { distribute } from '../db/distribute.ts'
import { newestMigration } from '../db/migrations/index.ts'
import { openDatabase } from '../db/open.ts'
import { openLog } from '../log.ts'
import { operatorCommand } from '../terminal/command.ts'

export const migrateCommand = operatorCommand(
  'migrate',
  'Migrates the database to the schema of this version, while instances of the previous release use it.',
  'The next start then has nothing to migrate. The exit status is 0 only if the schema is ready.',
).action(migrate)

async function migrate(): Promise<void> {
  const { databaseUrl, databaseServer, logLevel } = readConfig(process.env)
  const database = await openDatabase(databaseUrl, openLog(logLevel, pino.destination(1), 1), databaseServer)
  const spread = await distribute(database).finally(database.close)
  if (spread.length > 0) console.log(`Citus: ${spread.length} tables are now on all servers (${spread.join(', ')})`)
  console.log(
    `the database has the schema of this version (${newestMigration})\nNow start the instances of this version.`,
  )
}
