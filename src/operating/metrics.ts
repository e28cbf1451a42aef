import { Counter, Histogram, Registry } from 'prom-client'
import { loginFailures } from '../../generated/login-failures.ts'
import type { OperationId } from '../contract/schemas.ts'

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

/** By the first digit. */
const classes = ['none', '1xx', '2xx', '3xx', '4xx', '5xx']

export function createMetrics(): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const requests = new Counter({
    name: 'ebs_http_requests_total',
    help: 'Requests that got a response, by operation of openapi.yaml (none: not in it) and status',
    labelNames: ['operation', 'status'],
    registers,
  })
  const duration = new Histogram({
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
  const changes = new Histogram({
    name: 'ebs_sync_changes',
    help: 'Changes in a push (over HTTP or a socket) or a pulled page, or bookmarks in an import',
    labelNames: ['operation'],
    buckets: [0, 1, 10, 100, 1000, 10_000],
    registers,
  })
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
      requests.inc({ operation, status })
      duration.observe({ operation, class: classes[Math.floor(status / 100)] ?? 'none' }, seconds)
    },
    countAbandoned: (operation) => abandoned.inc({ operation }),
    countUpgrade: () => requests.inc({ operation: 'openRealtime', status: 101 }),
    countPush(count, { rejected, overwritten }) {
      changes.observe({ operation: 'pushChanges' }, count)
      countConflicts(rejected, overwritten)
    },
    countPull: (count) => changes.observe({ operation: 'pullChanges' }, count),
    countImport: (count) => changes.observe({ operation: 'importBookmarks' }, count),
    countSignIn: (outcome) => signIns.inc({ outcome }),
    countSweep(sweep, removed) {
      swept.inc({ sweep }, removed)
      failedSweeps.inc({ sweep }, 0)
    },
    countFailedSweep: (sweep) => failedSweeps.inc({ sweep }),
  }
}
