import { pino } from 'pino'
import { readConfig } from '../../config/config.ts'
import { demandOwn } from '../../db/beside.ts'
import { openDatabase } from '../../db/open.ts'
import { beginEpoch } from '../../db/tables/epoch.ts'

const log = pino({ level: 'silent' })

/** What was restored has a schema. Without one, it went to another database than the one named here. */
export async function beginNewEpoch(): Promise<void> {
  const { directUrl } = readConfig(process.env).databaseServer
  await demandOwn(directUrl, log)
  const database = await openDatabase(directUrl, log)
  try {
    console.log(`epoch ${await beginEpoch(database)}: devices will send again what this database has lost`)
    console.log('Now start the service.')
  } finally {
    await database.close()
  }
}
