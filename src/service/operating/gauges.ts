import type { FastifyBaseLogger } from 'fastify'
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Backups } from '../backup/schedule.ts'
import type { Database } from '../db/engine/database.ts'
import { newestMigration } from '../db/migrations/index.ts'
import type { ExportWorker } from '../exports/worker.ts'
import { createExportCount } from '../exports/worker.ts'
import type { Notices } from '../notices/notices.ts'
import type { Hub } from '../realtime/hub.ts'
import type { Health } from './health.ts'
import { createInstruments } from './instruments.ts'
import type { Metrics } from './metrics.ts'

export interface GaugeParts {
  metrics: Pick<Metrics, 'registry'>
  bodies: { held(): number }
  responses: { held(): number }
  downloads: { held(): number }
  database: Pick<Database, 'db' | 'load' | 'queries'>
  hub: Pick<Hub, 'sockets' | 'unsentBytes'>
  health: Pick<Health, 'components' | 'clockDriftMs'>
  limits: { refusals(): Record<string, number> }
  exportWorker: Pick<ExportWorker, 'outcomes'>
  notices: Pick<Notices, 'isUp' | 'counts'>
  backups: Pick<Backups, 'lastSuccess' | 'failures'> | undefined
  clock: () => number
  log: FastifyBaseLogger
}

/** Adds the metrics that are read on request. They describe the whole process, so only one listener may expose them. */
export function exposeGauges(parts: GaugeParts): Registry {
  const { metrics, bodies, responses, downloads, database, hub, health, limits, exportWorker } = parts
  const instruments = createInstruments(metrics.registry)
  const { gauge, gauges, counter, counters } = instruments

  counters('ebs_rate_limit_refusals_total', 'Requests and socket messages that got 429, by limit', 'limit', () =>
    limits.refusals(),
  )
  gauge('ebs_http_request_body_bytes', 'Bytes of request bodies in memory', () => bodies.held())
  gauge('ebs_http_response_bytes', 'Bytes of responses that their callers have not read yet', () => responses.held())
  gauge('ebs_http_downloads', 'Downloads of exports under way', () => downloads.held())
  gauge('ebs_realtime_sockets', 'Open sockets', () => hub.sockets())
  gauge('ebs_realtime_unsent_bytes', 'Unsent bytes in sockets that wait for slow readers', () => hub.unsentBytes())
  counters('ebs_export_attempts_total', 'Attempts by this process to make an export, by outcome', 'outcome', () =>
    exportWorker.outcomes(),
  )
  gauges(
    'ebs_exports',
    'Exports that are not completed, by status; read from the database, so the same on all instances',
    'status',
    createExportCount(parts),
  )
  gauges('ebs_database_connections', 'Connections to the database, by state', 'state', () => {
    const { busy, idle } = database.load()
    return { busy, idle }
  })
  gauge(
    'ebs_database_queue_length',
    'Queries and writes that wait for a connection (Postgres), or writes that wait for a commit (SQLite)',
    () => database.load().waiting,
  )
  gauges('ebs_component_up', 'Whether the last health probe reached the component', 'component', () => {
    const { database, objects, provider } = health.components()
    return { database: Number(database), objects: Number(objects), provider: Number(provider) }
  })
  gauge('ebs_pulse_up', 'Whether notices of other instances arrive, by which sockets learn of changes', () =>
    Number(parts.notices.isUp()),
  )
  gauge(
    'ebs_clock_drift_seconds',
    "How far this machine's clock is ahead of the database's",
    () => health.clockDriftMs() / 1000,
  )
  exposeBackups(parts.backups, instruments)
  counter('ebs_database_queries_total', 'Queries that the database has answered', () => database.queries().count)
  counter(
    'ebs_database_query_seconds_total',
    'How long the database took for them, without the wait for a connection',
    () => database.queries().ms / 1000,
  )
  counters('ebs_pulses_total', 'Notices between instances, by direction', 'direction', () => parts.notices.counts())
  new Gauge({
    name: 'ebs_build_info',
    help: 'The version of the service, of Node and of the schema',
    labelNames: ['version', 'node', 'schema'],
    registers: [metrics.registry],
  }).set({ version: packageJson.version, node: process.version, schema: newestMigration }, 1)
  collectDefaultMetrics({ register: metrics.registry })
  return metrics.registry
}

/** Only where backups are scheduled, so that an alert on their age means something. */
function exposeBackups(backups: GaugeParts['backups'], { gauge, counter }: ReturnType<typeof createInstruments>): void {
  if (!backups) return
  gauge(
    'ebs_backup_last_success_seconds',
    'The moment of the newest complete backup (Unix time); 0 if there is none',
    () => backups.lastSuccess() / 1000,
  )
  counter('ebs_backup_failures_total', 'Scheduled backups that failed in this process', () => backups.failures())
}
