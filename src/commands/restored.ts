/**
 * `npm run restored`: to be run after the database went back in time, by a restore or by a failover that lost changes, and
 * before a service starts on it. Devices then find out at their next sync, and send again what was lost. A copy made by
 * `npm run backup` needs no such command: its first start does the same.
 */
import { pino } from 'pino'
import { readConfig } from '../config/config.ts'
import { beginEpoch } from '../db/epoch.ts'
import { openDatabase } from '../db/open.ts'

try {
  await run(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function run(unexpected: string[]): Promise<void> {
  if (unexpected.length > 0) throw new Error('Usage: npm run restored')
  const { pulseDatabaseUrl } = readConfig(process.env)
  const database = await openDatabase(pulseDatabaseUrl, pino({ level: 'silent' }))
  try {
    console.log(`epoch ${await beginEpoch(database)}: devices will send again what this database has lost`)
  } finally {
    await database.close()
  }
}
