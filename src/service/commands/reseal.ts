import { pino } from 'pino'
import { readConfig } from '../config/config.ts'
import { ConfigError } from '../config/values.ts'
import { openForCommand } from '../db/for-command.ts'
import { operatorCommand } from '../terminal/command.ts'
import { withProgress } from '../terminal/progress.ts'
import { reseal } from '../upkeep/reseal.ts'

export const resealCommand = operatorCommand(
  'reseal',
  'Encrypts all sealed values with the first key of SECRET_KEY, so that you can remove the other keys.',
  'The service can keep running, in any number of instances: set SECRET_KEY=NEW,OLD, run this, then set SECRET_KEY=NEW. The exit status is 0 only if the first key opens all values.',
).action(resealAll)

async function resealAll(): Promise<void> {
  const { databaseServer, secretKeys } = readConfig(process.env)
  if (!secretKeys) {
    throw new ConfigError('SECRET_KEY is required here: the new key, then the old one (in development: secret.key)')
  }
  const database = await openForCommand(databaseServer.directUrl, pino({ level: 'silent' }))
  try {
    const { resealed, current, unreadable } = await withProgress(({ report }) => reseal(database, secretKeys, report))
    for (const { table, id = '(the rest)', damage } of unreadable)
      console.error(`${table} ${id}: ${damage ? `damaged (${damage.code})` : 'no key in SECRET_KEY opens it'}`)
    console.log(`resealed ${resealed}, already current ${current}, unreadable ${unreadable.length}`)
    if (unreadable.length > 0) process.exitCode = 1
    else if (secretKeys.length > 1)
      console.log('Now remove the other keys from SECRET_KEY on all instances. Older backups still need them.')
  } finally {
    await database.close()
  }
}
