import type { FastifyBaseLogger } from 'fastify'
import { sqliteFile } from '../config/storage.ts'
import { type Carrier, createNotices, type Notices, tryCarrier } from './notices.ts'

interface NoticesConfig {
  databaseUrl: string
  databaseServer: { directUrl: string }
  /** If empty, notifications go through Postgres. */
  natsUrls: string[]
}

/** A service on SQLite is one process. On Postgres, there may be several, which notify each other over a carrier. */
export async function openNotices(config: NoticesConfig, log: FastifyBaseLogger): Promise<Notices> {
  const isAlone = sqliteFile(config.databaseUrl) !== undefined
  return createNotices(log, isAlone ? undefined : await openCarrier(config, log))
}

/** Rejects if a notification to this process does not arrive. Needs Postgres. */
export async function tryNotices(config: NoticesConfig, log: FastifyBaseLogger): Promise<void> {
  await tryCarrier(await openCarrier(config, log))
}

async function openCarrier({ natsUrls, databaseServer }: NoticesConfig, log: FastifyBaseLogger): Promise<Carrier> {
  if (natsUrls.length > 0) return (await import('./nats.ts')).natsCarrier(natsUrls, log)
  return (await import('./postgres.ts')).postgresCarrier(databaseServer.directUrl, log)
}
