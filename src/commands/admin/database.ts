import { pino } from 'pino'
import { readConfig } from '../../config/config.ts'
import { type Beside, openBeside } from '../../db/beside.ts'

export function openFromEnvironment(): Promise<Beside> {
  return openBeside(readConfig(process.env).databaseUrl, pino({ level: 'silent' }))
}
