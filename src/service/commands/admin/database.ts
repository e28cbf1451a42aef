import { pino } from 'pino'
import { readConfig } from '../../config/config.ts'
import { type Beside, openBeside } from '../../db/beside.ts'

/** By the direct connection: a pooler takes neither the limits nor the prepared statements of one. */
export function openFromEnvironment(): Promise<Beside> {
  return openBeside(readConfig(process.env).databaseServer.directUrl, pino({ level: 'silent' }))
}
