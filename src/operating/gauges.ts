import type { FastifyBaseLogger } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import packageJson from '../../package.json' with { type: 'json' }
import type { Backups } from '../backup/schedule.ts'
import type { Database } from '../db/database.ts'
import { newestMigration } from '../db/migrations/index.ts'
import { createExportCount } from '../exports/count.ts'
import type { ExportWorker } from '../exports/worker.ts'
import type { Pulse } from '../pulse/pulse.ts'
import type { Hub } from '../realtime/hub.ts'
import type { Health } from './health.ts'
import type { Metrics } from './metrics.ts'

type Read = () => Record<string, number> | Promise<Record<string, number>>

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
  pulse: Pick<Pulse, 'isUp' | 'counts'>
  backups: Pick<Backups, 'lastSuccess' | 'failures'> | undefined
  clock: () => number
  log: FastifyBaseLogger
}

/** Adds the metrics that are read on request. They describe the whole process, so only one listener may expose them. */
export function exposeGauges(parts: GaugeParts): Registry {
  const { metrics, bodies, responses, downloads, database, hub, health, limits, exportWorker } = parts
  const registers = [metrics.registry]

  function gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })
  }

  function gauges(name: string, help: string, label: string, read: Read): void {
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers,
      async collect() {
        const values = Object.entries(await read())
        this.reset()
        for (const [key, value] of values) this.set({ [label]: key }, value)
      },
    })
  }

  function counters(name: string, help: string, label: string, read: () => Record<string, number>): void {
    new Counter({
      name,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset()
        for (const [key, value] of Object.entries(read())) this.inc({ [label]: key }, value)
      },
    })
  }

  function counter(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset()
        this.inc(read())
      },
    })
  }

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
  gauge('ebs_pulse_up', 'Whether pulses of other instances arrive, by which sockets learn of changes', () =>
    Number(parts.pulse.isUp()),
  )
  gauge(
    'ebs_clock_drift_seconds',
    "How far this machine's clock is ahead of the database's",
    () => health.clockDriftMs() / 1000,
  )
  exposeBackups(parts, registers)
  counter('ebs_database_queries_total', 'Queries that the database has answered', () => database.queries().count)
  counter(
    'ebs_database_query_seconds_total',
    'How long the database took for them, without the wait for a connection',
    () => database.queries().ms / 1000,
  )
  counters('ebs_pulses_total', 'Pulses between instances, by direction', 'direction', () => parts.pulse.counts())
  new Gauge({
    name: 'ebs_build_info',
    help: 'The version of the service, of Node and of the schema',
    labelNames: ['version', 'node', 'schema'],
    registers,
  }).set({ version: packageJson.version, node: process.version, schema: newestMigration }, 1)
  collectDefaultMetrics({ register: metrics.registry })
  return metrics.registry
}

/** Only where backups are scheduled, so that an alert on their age means something. */
function exposeBackups({ backups }: Pick<GaugeParts, 'backups'>, registers: Registry[]): void {
  if (!backups) return
  new Gauge({
    name: 'ebs_backup_last_success_seconds',
    help: 'The moment of the newest complete backup (Unix time); 0 if there is none',
    registers,
    collect() {
      this.set(backups.lastSuccess() / 1000)
    },
  })
  new Counter({
    name: 'ebs_backup_failures_total',
    help: 'Scheduled backups that failed in this process',
    registers,
    collect() {
      this.reset()
      this.inc(backups.failures())
    },
  })
}
