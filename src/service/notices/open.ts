import type { FastifyBaseLogger } from 'fastify'
import { createLocalPulse } from './local.ts'
import type { Pulse } from './notice.ts'
import { type Carrier, createSharedPulse } from './shared.ts'

interface PulseConfig {
  databaseUrl: string
  pulseDatabaseUrl: string
  /** Servers of NATS; none means Postgres. */
  pulseUrls: string[]
}

/** With SQLite there is one process, with Postgres there may be many. */
export async function openPulse(config: PulseConfig, log: FastifyBaseLogger): Promise<Pulse> {
  if (config.databaseUrl.startsWith('sqlite:')) return createLocalPulse()
  return createSharedPulse(await openCarrier(config, log), log)
}

async function openCarrier({ pulseUrls, pulseDatabaseUrl }: PulseConfig, log: FastifyBaseLogger): Promise<Carrier> {
  if (pulseUrls.length > 0) return (await import('./nats.ts')).natsCarrier(pulseUrls, log)
  return (await import('./postgres.ts')).postgresCarrier(pulseDatabaseUrl, log)
}
