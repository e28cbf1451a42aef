import type { FastifyBaseLogger } from 'fastify'
import { createLocalPulse } from './local.ts'
import type { Pulse } from './pulse.ts'

/** With SQLite there is one process, with Postgres there may be many. */
export async function openPulse(databaseUrl: string, log: FastifyBaseLogger): Promise<Pulse> {
  if (databaseUrl.startsWith('sqlite:')) return createLocalPulse()
  const { createPostgresPulse } = await import('./postgres.ts')
  return createPostgresPulse(databaseUrl, log)
}
