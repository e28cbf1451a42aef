import { collectDefaultMetrics, Registry } from 'prom-client'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Backups } from '../backup/schedule.ts'
import type { Database } from '../db/engine/database.ts'
import type { Faults } from '../db/engine/probe.ts'
import { newestMigration } from '../db/migrations/index.ts'
import type { ExportWorker } from '../exports/worker.ts'
import type { Notices } from '../notices/notices.ts'
import type { Hub } from '../realtime/hub.ts'
import { type CapacityParts, capacityFamilies } from './capacity.ts'
import type { ClockGuard } from './clock.ts'
import type { Health } from './health.ts'
import { byLabel, counter, type Family, gauge, type Metrics, writeFamilies } from './metrics.ts'

export interface GaugeParts extends CapacityParts {
  metrics: Pick<Metrics, 'families'>
  bodies: { held(): number }
  responses: { held(): number }
  downloads: { held(): number }
  database: CapacityParts['database'] & Pick<Database, 'load' | 'queries'> & { faults: Pick<Faults, 'counts'> }
  hub: Pick<Hub, 'sockets' | 'unsentBytes'>
  clockGuard: Pick<ClockGuard, 'jumpMs'>
  health: Pick<Health, 'components' | 'clockDriftMs'>
  limits: { refusals(): Record<string, number> }
  exportWorker: Pick<ExportWorker, 'outcomes'>
  notices: Pick<Notices, 'isUp' | 'counts'>
  backups: Pick<Backups, 'lastSuccess' | 'failures'> | undefined
}

/** The page of all metrics. They describe the whole process, so only one listener may expose them. */
export function createMetricsPage(parts: GaugeParts) {
  const families = [...parts.metrics.families, ...gaugesOf(parts)]
  const ofNode = new Registry()
  collectDefaultMetrics({ register: ofNode })
  return {
    contentType: ofNode.contentType,
    read: async () => (await writeFamilies(families)) + (await ofNode.metrics()),
  }
}

/** The metrics whose values are kept elsewhere. */
function gaugesOf(parts: GaugeParts): Family[] {
  const { bodies, responses, downloads, database, hub, clockGuard, health, limits, exportWorker, notices, backups } =
    parts
  const build = { version: packageJson.version, node: process.version, schema: newestMigration }
  return [
    counter('ebs_rate_limit_refusals_total', 'Requests and socket messages that got 429, by limit', () =>
      byLabel('limit', limits.refusals()),
    ),
    gauge('ebs_http_request_body_bytes', 'Bytes of request bodies in memory', () => bodies.held()),
    gauge('ebs_http_response_bytes', 'Bytes of responses that their callers have not read yet', () => responses.held()),
    gauge('ebs_http_downloads', 'Downloads of exports under way', () => downloads.held()),
    gauge('ebs_realtime_sockets', 'Open sockets', () => hub.sockets()),
    gauge('ebs_realtime_unsent_bytes', 'Unsent bytes in sockets that wait for slow readers', () => hub.unsentBytes()),
    counter('ebs_export_attempts_total', 'Attempts by this process to make an export, by outcome', () =>
      byLabel('outcome', exportWorker.outcomes()),
    ),
    ...capacityFamilies(parts),
    gauge('ebs_database_connections', 'Connections to the database, by state', () => {
      const { busy, idle } = database.load()
      return byLabel('state', { busy, idle })
    }),
    gauge(
      'ebs_database_queue_length',
      'Queries and writes that wait for a connection (Postgres), or writes that wait for a commit (SQLite)',
      () => database.load().waiting,
    ),
    gauge('ebs_component_up', 'Whether the last health probe reached the component', () =>
      byLabel('component', health.components()),
    ),
    counter(
      'ebs_database_faults_total',
      "Errors of the database's disk that requests and probes met: it is full or fails, or a part of the database is damaged",
      () => byLabel('fault', database.faults.counts()),
    ),
    gauge('ebs_pulse_up', 'Whether notices of other instances arrive, by which sockets learn of changes', () =>
      Number(notices.isUp()),
    ),
    gauge(
      'ebs_clock_drift_seconds',
      "How far this machine's clock is ahead of the database's",
      () => health.clockDriftMs() / 1000,
    ),
    gauge(
      'ebs_clock_jump_seconds',
      'How far the clock is after the time at which the database was last in use, while it is not believed; otherwise 0',
      () => clockGuard.jumpMs() / 1000,
    ),
    ...(backups ? gaugesOfBackups(backups) : []),
    counter('ebs_database_queries_total', 'Queries that the database has answered', () => database.queries().count),
    counter(
      'ebs_database_query_seconds_total',
      'How long the database took for them, without the wait for a connection',
      () => database.queries().ms / 1000,
    ),
    counter('ebs_pulses_total', 'Notices between instances, by direction', () =>
      byLabel('direction', notices.counts()),
    ),
    gauge('ebs_build_info', 'The version of the service, of Node and of the schema', () => [[build, 1]]),
  ]
}

/** Only where backups are scheduled, so that an alert on their age means something. */
function gaugesOfBackups({ lastSuccess, failures }: NonNullable<GaugeParts['backups']>): Family[] {
  return [
    gauge(
      'ebs_backup_last_success_seconds',
      'The moment of the newest complete backup (Unix time); 0 if there is none',
      () => lastSuccess() / 1000,
    ),
    counter('ebs_backup_failures_total', 'Scheduled backups that failed in this process', () => failures()),
  ]
}
