import { pino } from 'pino'
import { readConfig } from '../config/config.ts'
import { requireOwn } from '../db/for-command.ts'
import { openDatabase } from '../db/open.ts'
import { beginEpoch } from '../db/tables/epoch.ts'
import { operatorCommand } from '../terminal/command.ts'

export const restoredCommand = operatorCommand(
  'restored',
  'Makes devices send again what a recovered database has lost.',
  'Run it after you have recovered a backup, or after a failover that lost changes, before a service starts on the database. It is not needed after ebs restore, or for a copy by ebs backup, because both do it by themselves.',
).action(beginNewEpoch)

/** Requires an existing schema: without one, the backup was restored to another database than the configured one. */
async function beginNewEpoch(): Promise<void> {
  const { directUrl } = readConfig(process.env).databaseServer
  const log = pino({ level: 'silent' })
  await requireOwn(directUrl, log)
  const database = await openDatabase(directUrl, log)
  try {
    console.log(`epoch ${await beginEpoch(database)}: devices will send again what this database has lost`)
    console.log('Now start the service.')
  } finally {
    await database.close()
  }
}
