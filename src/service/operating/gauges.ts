import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Backups } from '../backup/schedule.ts'
import type { Database } from '../db/engine/database.ts'
import type { Faults } from '../db/engine/probe.ts'
import { newestMigration } from '../db/migrations/index.ts'
import type { ExportWorker } from '../exports/worker.ts'
import type { Notices } from '../notices/notices.ts'
import type { Hub } from '../realtime/hub.ts'
import { type CapacityParts, createCapacity } from './capacity.ts'
import type { ClockGuard } from './clock.ts'
import type { Health } from './health.ts'
import type { Metrics } from './metrics.ts'

/** The parts whose values `/metrics` shows. */
export interface GaugeParts extends CapacityParts {
  metrics: Pick<Metrics, 'registry'>
  gate: Record<string, { load(): { taken: number; waiting: number } }>
  database: CapacityParts['database'] & Pick<Database, 'load' | 'queries'> & { faults: Pick<Faults, 'counts'> }
  hub: Pick<Hub, 'sockets' | 'unsentBytes'>
  clockGuard: Pick<ClockGuard, 'jumpMs'>
  health: Pick<Health, 'components' | 'clockDriftMs'>
  limits: { refusals(): Record<string, number> }
  exportWorker: Pick<ExportWorker, 'outcomes'>
  notices: Pick<Notices, 'isUp' | 'counts'>
  backups: Pick<Backups, 'lastSuccess' | 'failures'> | undefined
}

/** A number, or one per value of the metric's label. Metrics without a value are left out. */
type Reading = number | Record<string, number | boolean>

/** The part of a counter or gauge that sets its value. */
interface Settable {
  reset(): void
  inc(labels: Record<string, string>, value: number): void
  remove(): void
}

/** The registry of all metrics. They describe the whole process, so only one listener exposes them. */
export function createMetricsPage(parts: GaugeParts): Registry {
  const registry = Registry.merge([parts.metrics.registry])
  exposeGauges(registry, parts)
  collectDefaultMetrics({ register: registry })
  return registry
}

/** Registers metrics whose values are read at each scrape. */
function exposeGauges(registry: Registry, parts: GaugeParts): void {
  type Read = () => Reading | undefined | Promise<Reading | undefined>
  const configOf = (name: string, help: string, read: Read, label = '') => ({
    name,
    help,
    labelNames: label ? [label] : [],
    registers: [registry],
    async collect(this: Settable) {
      const reading = await read()
      this.reset()
      if (typeof reading === 'number') this.inc({}, reading)
      // `reset` has set the value to 0.
      else if (reading === undefined) this.remove()
      else for (const [value, amount] of Object.entries(reading)) this.inc({ [label]: value }, Number(amount))
    },
  })
  const gauge = (...config: Parameters<typeof configOf>) => new Gauge(configOf(...config))
  const counter = (...config: Parameters<typeof configOf>) => new Counter(configOf(...config))
  const { gate, database, hub, clockGuard, health, limits, exportWorker, notices, backups } = parts
  const places = (state: 'taken' | 'waiting') => () =>
    Object.fromEntries(Object.entries(gate).map(([kind, slots]) => [kind, slots.load()[state]]))
  const capacity = createCapacity(parts)

  counter(
    'ebs_rate_limit_refusals_total',
    'Requests and socket messages that got 429, by limit',
    () => limits.refusals(),
    'limit',
  )
  gauge('ebs_places_taken', 'Places that requests have taken, by kind', places('taken'), 'kind')
  gauge('ebs_places_waiting', 'Requests that wait for a place, by kind', places('waiting'), 'kind')
  gauge('ebs_realtime_sockets', 'Open sockets', () => hub.sockets())
  gauge('ebs_realtime_unsent_bytes', 'Unsent bytes in sockets that wait for slow readers', () => hub.unsentBytes())
  counter(
    'ebs_export_attempts_total',
    'Attempts by this process to make an export, by outcome',
    () => exportWorker.outcomes(),
    'outcome',
  )
  gauge(
    'ebs_exports',
    'Exports that are not completed, by status; read from the database, so the same on all instances',
    async () => (await capacity.exports()) ?? {},
    'status',
  )
  gauge('ebs_users', 'Users, read from the database every 5 minutes', async () => (await capacity.stored())?.users)
  gauge(
    'ebs_stored_bytes',
    'What all users store, as the quota counts it, read every 5 minutes',
    async () => (await capacity.stored())?.bytes,
  )
  gauge(
    'ebs_database_bytes',
    'The size of the database, without its log, read every 5 minutes',
    async () => (await capacity.stored())?.databaseBytes,
  )
  gauge(
    'ebs_disk_free_bytes',
    'What the service may still write to the disk of the folder',
    capacity.freeBytes,
    'folder',
  )
  gauge('ebs_disk_bytes', 'The size of the disk of the folder', capacity.diskBytes, 'folder')
  gauge(
    'ebs_database_connections',
    'Connections to the database, by state',
    () => {
      const { busy, idle } = database.load()
      return { busy, idle }
    },
    'state',
  )
  gauge(
    'ebs_database_queue_length',
    'Queries and writes that wait for a connection (Postgres), or writes that wait for a commit (SQLite)',
    () => database.load().waiting,
  )
  gauge(
    'ebs_component_up',
    'Whether the last health probe reached the component',
    () => health.components(),
    'component',
  )
  counter(
    'ebs_database_faults_total',
    "Errors of the database's disk that requests and probes met: it is full or fails, or a part of the database is damaged",
    () => database.faults.counts(),
    'fault',
  )
  gauge('ebs_pulse_up', 'Whether notices of other instances arrive, by which sockets learn of changes', () =>
    Number(notices.isUp()),
  )
  gauge(
    'ebs_clock_drift_seconds',
    "How far this machine's clock is ahead of the database's",
    () => health.clockDriftMs() / 1000,
  )
  gauge(
    'ebs_clock_jump_seconds',
    'How far the clock is after the time at which the database was last in use (negative: before), while it is not believed; otherwise 0',
    () => clockGuard.jumpMs() / 1000,
  )
  // Alerts on the age of backups only make sense with a schedule.
  if (backups) {
    gauge(
      'ebs_backup_last_success_seconds',
      'The moment of the newest complete backup (Unix time); 0 if there is none',
      () => backups.lastSuccess() / 1000,
    )
    counter('ebs_backup_failures_total', 'Scheduled backups that failed in this process', () => backups.failures())
  }
  counter('ebs_database_queries_total', 'Queries that the database has answered', () => database.queries().count)
  counter(
    'ebs_database_query_seconds_total',
    'How long the database took for them, without the wait for a connection',
    () => database.queries().ms / 1000,
  )
  counter('ebs_pulses_total', 'Notices between instances, by direction', () => notices.counts(), 'direction')
  const build = { version: packageJson.version, node: process.version, schema: newestMigration }
  new Gauge({
    name: 'ebs_build_info',
    help: 'The version of the service, of Node and of the schema',
    labelNames: Object.keys(build),
    registers: [registry],
  }).set(build, 1)
}
