import { pino } from 'pino'
import { readConfig } from '../../config/config.ts'
import { beginEpoch } from '../../db/epoch.ts'
import { openDatabase } from '../../db/open.ts'

export async function beginNewEpoch(): Promise<void> {
  const { pulseDatabaseUrl } = readConfig(process.env)
  const database = await openDatabase(pulseDatabaseUrl, pino({ level: 'silent' }))
  try {
    console.log(`epoch ${await beginEpoch(database)}: devices will send again what this database has lost`)
    console.log('Now start the service.')
  } finally {
    await database.close()
  }
}
