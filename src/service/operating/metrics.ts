import { Counter, Histogram, Registry } from 'prom-client'
import { loginFailures } from '../../../generated/login-failures.ts'
import type { OperationId } from '../contract/schemas.ts'

/** Counts events. Labels come from bounded sets, never from callers. */
export type Metrics = ReturnType<typeof createMetrics>

const secondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const changesBuckets = [0, 1, 10, 100, 1000, 10_000]

export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = <Label extends string>(name: string, help: string, buckets: number[], ...labelNames: Label[]) =>
    new Histogram({ name, help, labelNames, buckets, registers })

  const requests = counter(
    'ebs_http_requests_total',
    'Requests that got a response, by operation of openapi.yaml (none: not in it) and status',
    'operation',
    'status',
  )
  const durations = histogram(
    'ebs_http_request_duration_seconds',
    'Time from the head of a request to the end of its response, by operation and class of its status',
    secondsBuckets,
    'operation',
    'class',
  )
  const abandoned = counter(
    'ebs_http_requests_abandoned_total',
    'Requests whose caller disconnected before the response was sent',
    'operation',
  )
  const changes = histogram(
    'ebs_sync_changes',
    'Changes in a push (over HTTP or a socket) or a pulled page, or bookmarks in an import',
    changesBuckets,
    'operation',
  )
  const conflicts = counter(
    'ebs_sync_conflicts_total',
    'Pushed changes that were rejected, and those that overwrote a version their device had not seen',
    'outcome',
  )
  const signIns = counter(
    'ebs_sign_ins_total',
    'Sign-ins that came back from the identity provider, by outcome: completed, or why not',
    'outcome',
  )
  const swept = counter(
    'ebs_swept_total',
    'Rows and objects that sweeps of this process have removed, by sweep',
    'sweep',
  )
  const failedSweeps = counter('ebs_sweep_failures_total', 'Sweeps of this process that failed', 'sweep')

  // Known series start at 0, so that a rate includes their first increase.
  for (const outcome of ['rejected', 'overwritten']) conflicts.inc({ outcome }, 0)
  for (const outcome of ['completed', ...Object.keys(loginFailures)]) signIns.inc({ outcome }, 0)

  return {
    registry,
    /** `none` stands for requests outside the contract: pages, probes, unknown paths. */
    countRequest(operation: OperationId | 'none', status: number, seconds: number): void {
      requests.inc({ operation, status })
      durations.observe({ operation, class: `${Math.floor(status / 100)}xx` }, seconds)
    },
    countAbandoned: (operation: OperationId | 'none') => abandoned.inc({ operation }),
    countUpgrade: () => requests.inc({ operation: 'openRealtime', status: 101 }),
    countPush(count: number, { rejected, overwritten }: { rejected: number; overwritten: number }): void {
      changes.observe({ operation: 'pushChanges' }, count)
      conflicts.inc({ outcome: 'rejected' }, rejected)
      conflicts.inc({ outcome: 'overwritten' }, overwritten)
    },
    countPull: (count: number) => changes.observe({ operation: 'pullChanges' }, count),
    countImport: (count: number) => changes.observe({ operation: 'importBookmarks' }, count),
    /** Counts a sign-in that was completed, or failed in one of the contract's ways. */
    countSignIn: (outcome: keyof typeof loginFailures | 'completed') => signIns.inc({ outcome }),
    countSweep(sweep: string, removed: number): void {
      swept.inc({ sweep }, removed)
      failedSweeps.inc({ sweep }, 0)
    },
    countFailedSweep: (sweep: string) => failedSweeps.inc({ sweep }),
  }
}
