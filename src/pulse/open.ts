import type { FastifyBaseLogger } from 'fastify'
import { createLocalPulse } from './local.ts'
import type { Pulse } from './pulse.ts'

interface PulseConfig {
  databaseUrl: string
  pulseDatabaseUrl: string
}

/** With SQLite there is one process, with Postgres there may be many. */
export async function openPulse(config: PulseConfig, log: FastifyBaseLogger): Promise<Pulse> {
  if (config.databaseUrl.startsWith('sqlite:')) return createLocalPulse()
  const { createPostgresPulse } = await import('./postgres.ts')
  return createPostgresPulse(config.pulseDatabaseUrl, log)
}
