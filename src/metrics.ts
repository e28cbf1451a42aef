import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import packageJson from '../package.json' with { type: 'json' }
import type { Context } from './context.ts'
import type { OperationId } from './contract.ts'
import { createExportCount } from './exports/count.ts'

/** What is counted as it happens. All labels are of bounded sets: nothing that a caller made up is ever one. */
export interface Metrics {
  registry: Registry
  /** `none` is what the contract does not have: pages, probes, unknown paths. */
  countRequest(operation: OperationId | 'none', status: number, seconds: number): void
  countAbandoned(operation: OperationId | 'none'): void
  countUpgrade(): void
  countPush(changes: number, conflicts: { rejected: number; overwritten: number }): void
  countPull(changes: number): void
  countImport(bookmarks: number): void
}

type Read = () => Record<string, number> | Promise<Record<string, number>>

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const requests = new Counter({
    name: 'ebs_http_requests_total',
    help: 'Requests that were answered, by operation of openapi.yaml (none: not in it) and status',
    labelNames: ['operation', 'status'],
    registers,
  })
  const duration = new Histogram({
    name: 'ebs_http_request_duration_seconds',
    help: 'From the head of a request to the end of its answer',
    labelNames: ['operation'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  })
  const abandoned = new Counter({
    name: 'ebs_http_requests_abandoned_total',
    help: 'Requests whose caller was gone before the answer was sent',
    labelNames: ['operation'],
    registers,
  })
  const changes = new Histogram({
    name: 'ebs_sync_changes',
    help: 'Changes in a push (over HTTP or a socket), in a page that was pulled, or bookmarks in an import',
    labelNames: ['operation'],
    buckets: [0, 1, 10, 100, 1000, 10_000],
    registers,
  })
  const conflicts = new Counter({
    name: 'ebs_sync_conflicts_total',
    help: 'Pushed changes that were rejected, and those that overwrote one their device had not seen',
    labelNames: ['outcome'],
    registers,
  })
  const countConflicts = (rejected: number, overwritten: number) => {
    conflicts.inc({ outcome: 'rejected' }, rejected)
    conflicts.inc({ outcome: 'overwritten' }, overwritten)
  }
  countConflicts(0, 0)
  return {
    registry,
    countRequest(operation, status, seconds) {
      requests.inc({ operation, status })
      duration.observe({ operation }, seconds)
    },
    countAbandoned: (operation) => abandoned.inc({ operation }),
    countUpgrade: () => requests.inc({ operation: 'openRealtime', status: 101 }),
    countPush(count, { rejected, overwritten }) {
      changes.observe({ operation: 'pushChanges' }, count)
      countConflicts(rejected, overwritten)
    },
    countPull: (count) => changes.observe({ operation: 'pullChanges' }, count),
    countImport: (count) => changes.observe({ operation: 'importBookmarks' }, count),
  }
}

/** Adds what is read when somebody asks. Of the whole process, so for one listener in a process. */
export function exposeState(context: Context): Registry {
  const { metrics, bodies, database, hub, health, limits, exportWorker } = context
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

  counters('ebs_rate_limit_refusals_total', 'Requests and socket messages answered 429, by limit', 'limit', () =>
    limits.refusals(),
  )
  gauge('ebs_http_request_body_bytes', 'Bytes of request bodies that are held', () => bodies.waitingBytes())
  gauge('ebs_realtime_sockets', 'Open sockets', () => hub.sockets())
  gauge('ebs_realtime_unsent_bytes', 'Bytes that wait in sockets for slow readers', () => hub.unsentBytes())
  counters('ebs_export_attempts_total', 'Attempts at an export by this process, by outcome', 'outcome', () =>
    exportWorker.outcomes(),
  )
  gauges(
    'ebs_exports',
    'Exports that are not completed, by status; of the database, so equal on all instances',
    'status',
    createExportCount(context),
  )
  gauges('ebs_database_connections', 'Connections to the database, by state', 'state', () => {
    const { busy, idle } = database.load()
    return { busy, idle }
  })
  gauge(
    'ebs_database_queue_length',
    'What waits for a connection (Postgres), or writes that wait (SQLite)',
    () => database.load().waiting,
  )
  gauges('ebs_component_up', 'Whether the last probe of health reached it', 'component', () => {
    const { database, objects, provider } = health.components()
    return { database: Number(database), objects: Number(objects), provider: Number(provider) }
  })
  gauges('ebs_build_info', 'The version that runs', 'version', () => ({ [packageJson.version]: 1 }))
  collectDefaultMetrics({ register: metrics.registry })
  return metrics.registry
}
