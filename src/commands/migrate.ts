/**
 * `npm run migrate`: brings the database to the schema of this version, apart from the start, while instances of the
 * previous release run on it. A start then finds nothing to do. Exit status 0 only when all is done.
 */
import { pino } from 'pino'
import { readConfig } from '../config/config.ts'
import { newestMigration } from '../db/migrations/index.ts'
import { openDatabase } from '../db/open.ts'

try {
  await run(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function run(unexpected: string[]): Promise<void> {
  if (unexpected.length > 0) throw new Error('Usage: npm run migrate')
  const { databaseUrl, databaseServer, logLevel } = readConfig(process.env)
  const database = await openDatabase(databaseUrl, pino({ level: logLevel }), databaseServer)
  await database.close()
  console.log(`the database has the schema of this version (${newestMigration})`)
}
