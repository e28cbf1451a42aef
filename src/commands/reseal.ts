/**
 * `npm run reseal`: encrypts all sealed values with the first key of SECRET_KEY, so that the others can be dropped. The
 * service can keep running, in any number of instances. The exit status is 0 only when the first key opens all values.
 */
import { pino } from 'pino'
import { readConfig } from '../config/config.ts'
import { ConfigError } from '../config/values.ts'
import { openBeside } from '../db/beside.ts'
import { reseal } from './reseal/reseal.ts'

try {
  await run()
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function run(): Promise<void> {
  const { pulseDatabaseUrl, secretKeys } = readConfig(process.env)
  if (!secretKeys) {
    throw new ConfigError('SECRET_KEY is required here: the new key, then the old one (of development: secret.key)')
  }
  const database = await openBeside(pulseDatabaseUrl, pino({ level: 'silent' }))
  try {
    const { resealed, current, unreadable } = await reseal(database, secretKeys)
    for (const { table, id } of unreadable) console.error(`${table} ${id}: opens under no key of SECRET_KEY`)
    console.log(`resealed ${resealed}, already current ${current}, unreadable ${unreadable.length}`)
    if (unreadable.length > 0) process.exitCode = 1
  } finally {
    await database.close()
  }
}
