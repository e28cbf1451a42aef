import type { FastifyBaseLogger } from 'fastify'
import { createLocalPulse } from './local.ts'
import { createPostgresPulse } from './postgres.ts'
import type { Pulse } from './pulse.ts'

/** With SQLite there is one process, with Postgres there may be many. */
export function openPulse(databaseUrl: string, log: FastifyBaseLogger): Pulse {
  return databaseUrl.startsWith('sqlite:') ? createLocalPulse() : createPostgresPulse(databaseUrl, log)
}
