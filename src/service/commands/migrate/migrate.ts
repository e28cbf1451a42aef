import { pino } from 'pino'
import { readConfig } from '../../config/config.ts'
import { newestMigration } from '../../db/migrations/index.ts'
import { openDatabase } from '../../db/open.ts'
import { openLog } from '../../log.ts'

export async function migrate(): Promise<void> {
  const { databaseUrl, databaseServer, logLevel } = readConfig(process.env)
  const database = await openDatabase(databaseUrl, openLog(logLevel, pino.destination(1)), databaseServer)
  await database.close()
  console.log(
    `the database has the schema of this version (${newestMigration})\nNow start the instances of this version.`,
  )
}
