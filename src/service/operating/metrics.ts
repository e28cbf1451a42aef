import { Counter, Registry } from 'prom-client'
import { loginFailures } from '../../../generated/login-failures.ts'
import type { OperationId } from '../contract/schemas.ts'
import { type Series, SeriesHistogram } from './series.ts'

/** What is counted as it happens. Labels come from bounded sets, never from a caller. */
export interface Metrics {
  registry: Registry
  /** `none` stands for what is not in the contract: pages, probes, unknown paths. */
  countRequest(operation: OperationId | 'none', status: number, seconds: number): void
  countAbandoned(operation: OperationId | 'none'): void
  countUpgrade(): void
  countPush(changes: number, conflicts: { rejected: number; overwritten: number }): void
  countPull(changes: number): void
  countImport(bookmarks: number): void
  /** A sign-in that ended: with a session, or by one of the contract's failures. */
  countSignIn(outcome: SignInOutcome): void
  countSweep(name: string, removed: number): void
  countFailedSweep(name: string): void
}

type SignInOutcome = keyof typeof loginFailures | 'completed'

/** The requests of an operation that got the same status. */
interface Answers {
  operation: OperationId | 'none'
  status: number
  count: number
  times: Series
}

/** By the first digit. */
const classes = ['none', '1xx', '2xx', '3xx', '4xx', '5xx']

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  /** By operation and status. Every request is counted, so prom-client makes a text of the labels only when it is asked. */
  const operations = new Map<OperationId | 'none', Map<number, Answers>>()

  function* answers(): Generator<Answers> {
    for (const statuses of operations.values()) yield* statuses.values()
  }

  function answersOf(operation: OperationId | 'none', status: number): Answers {
    const known = operations.get(operation)?.get(status)
    if (known) return known
    const times = duration.series({ operation, class: classes[Math.floor(status / 100)] ?? 'none' })
    const first = { operation, status, count: 0, times }
    const statuses = operations.get(operation) ?? new Map<number, Answers>()
    operations.set(operation, statuses.set(status, first))
    return first
  }

  new Counter({
    name: 'ebs_http_requests_total',
    help: 'Requests that got a response, by operation of openapi.yaml (none: not in it) and status',
    labelNames: ['operation', 'status'],
    registers,
    collect() {
      this.reset()
      for (const { operation, status, count } of answers()) this.inc({ operation, status }, count)
    },
  })
  const duration = new SeriesHistogram({
    name: 'ebs_http_request_duration_seconds',
    help: 'Time from the head of a request to the end of its response, by operation and class of its status',
    labelNames: ['operation', 'class'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  })
  const abandoned = new Counter({
    name: 'ebs_http_requests_abandoned_total',
    help: 'Requests whose caller disconnected before the response was sent',
    labelNames: ['operation'],
    registers,
  })
  const changes = new SeriesHistogram({
    name: 'ebs_sync_changes',
    help: 'Changes in a push (over HTTP or a socket) or a pulled page, or bookmarks in an import',
    labelNames: ['operation'],
    buckets: [0, 1, 10, 100, 1000, 10_000],
    registers,
  })
  const changesOf = (operation: OperationId) => changes.series({ operation })
  const [pushed, pulled] = [changesOf('pushChanges'), changesOf('pullChanges')]
  const imported = changesOf('importBookmarks')
  const conflicts = new Counter({
    name: 'ebs_sync_conflicts_total',
    help: 'Pushed changes that were rejected, and those that overwrote a version their device had not seen',
    labelNames: ['outcome'],
    registers,
  })
  const countConflicts = (rejected: number, overwritten: number) => {
    conflicts.inc({ outcome: 'rejected' }, rejected)
    conflicts.inc({ outcome: 'overwritten' }, overwritten)
  }
  countConflicts(0, 0)
  const signIns = new Counter({
    name: 'ebs_sign_ins_total',
    help: 'Sign-ins that came back from the identity provider, by outcome: completed, or why not',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of ['completed', ...Object.keys(loginFailures)]) signIns.inc({ outcome }, 0)
  const swept = new Counter({
    name: 'ebs_swept_total',
    help: 'Rows and objects that sweeps of this process have removed, by sweep',
    labelNames: ['sweep'],
    registers,
  })
  const failedSweeps = new Counter({
    name: 'ebs_sweep_failures_total',
    help: 'Sweeps of this process that failed',
    labelNames: ['sweep'],
    registers,
  })
  return {
    registry,
    countRequest(operation, status, seconds) {
      const answers = answersOf(operation, status)
      answers.count++
      answers.times.observe(seconds)
    },
    countAbandoned: (operation) => abandoned.inc({ operation }),
    countUpgrade: () => void answersOf('openRealtime', 101).count++,
    countPush(count, { rejected, overwritten }) {
      pushed.observe(count)
      countConflicts(rejected, overwritten)
    },
    countPull: (count) => pulled.observe(count),
    countImport: (count) => imported.observe(count),
    countSignIn: (outcome) => signIns.inc({ outcome }),
    countSweep(sweep, removed) {
      swept.inc({ sweep }, removed)
      failedSweeps.inc({ sweep }, 0)
    },
    countFailedSweep: (sweep) => failedSweeps.inc({ sweep }),
  }
}
