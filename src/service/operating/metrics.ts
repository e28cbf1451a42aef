import { loginFailures } from '../../../generated/login-failures.ts'
import type { OperationId } from '../contract/schemas.ts'

/** Counts events as they happen. Labels come from bounded sets, never from a caller. */
export type Metrics = ReturnType<typeof createMetrics>

/** The values of a metric are read when they are asked for. One without a label is a number. */
export interface Family {
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  help: string
  read: () => number | Sample[] | Promise<Sample[]>
}

type Sample = readonly [labels: Record<string, string | number>, value: number, suffix?: string]

/** The requests of an operation that got the same status. */
interface Answers {
  count: number
  times: Histogram
  work: Histogram
}

/** By the first digit. */
const classes = ['none', '1xx', '2xx', '3xx', '4xx', '5xx']
const secondsBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const workBounds = [0.001, 0.0025, 0.005, 0.012, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const changesBounds = [0, 1, 10, 100, 1000, 10_000]

export function createMetrics() {
  const operations = new Map<OperationId | 'none', Map<number, Answers>>()
  const times = new Map<string, Histogram>()
  const works = new Map<OperationId | 'none', Histogram>()
  const changes = {
    pushChanges: new Histogram({ operation: 'pushChanges' }, changesBounds),
    pullChanges: new Histogram({ operation: 'pullChanges' }, changesBounds),
    importBookmarks: new Histogram({ operation: 'importBookmarks' }, changesBounds),
  }
  const abandoned = new Counts()
  const conflicts = new Counts(['rejected', 'overwritten'])
  const signIns = new Counts(['completed', ...Object.keys(loginFailures)])
  const swept = new Counts()
  const failedSweeps = new Counts()

  /** Every request is counted, so nothing is made of the labels then. */
  function answersOf(operation: OperationId | 'none', status: number): Answers {
    const known = operations.get(operation)?.get(status)
    if (known) return known
    const labels = { operation, class: classes[Math.floor(status / 100)] ?? 'none' }
    const key = Object.values(labels).join()
    const histogram = times.get(key) ?? new Histogram(labels, secondsBounds)
    times.set(key, histogram)
    const work = works.get(operation) ?? new Histogram({ operation }, workBounds)
    works.set(operation, work)
    const first = { count: 0, times: histogram, work }
    const statuses = operations.get(operation) ?? new Map<number, Answers>()
    operations.set(operation, statuses.set(status, first))
    return first
  }

  return {
    /** `none` stands for requests that are not in the contract: pages, probes, unknown paths. */
    countRequest(operation: OperationId | 'none', status: number, seconds: number, workMs?: number): void {
      const answers = answersOf(operation, status)
      answers.count++
      answers.times.observe(seconds)
      if (workMs !== undefined) answers.work.observe(workMs / 1000)
    },
    countAbandoned: (operation: OperationId | 'none') => abandoned.add(operation),
    countUpgrade: () => void answersOf('openRealtime', 101).count++,
    countPush(count: number, { rejected, overwritten }: { rejected: number; overwritten: number }): void {
      changes.pushChanges.observe(count)
      conflicts.add('rejected', rejected)
      conflicts.add('overwritten', overwritten)
    },
    countPull: (count: number) => changes.pullChanges.observe(count),
    countImport: (count: number) => changes.importBookmarks.observe(count),
    /** A sign-in that ended: with a session, or by one of the contract's failures. */
    countSignIn: (outcome: keyof typeof loginFailures | 'completed') => signIns.add(outcome),
    countSweep(sweep: string, removed: number): void {
      swept.add(sweep, removed)
      failedSweeps.add(sweep, 0)
    },
    countFailedSweep: (sweep: string) => failedSweeps.add(sweep),
    families: [
      counter(
        'ebs_http_requests_total',
        'Requests that got a response, by operation of openapi.yaml (none: not in it) and status',
        () => [...operations].flatMap(([operation, statuses]) => samplesOf(operation, statuses)),
      ),
      histogram(
        'ebs_http_request_duration_seconds',
        'Time from the head of a request to the end of its response, by operation and class of its status',
        () => times.values(),
      ),
      histogram(
        'ebs_http_request_work_seconds',
        'What the requests of users took of the event loop and the database, by operation',
        () => works.values(),
      ),
      counter(
        'ebs_http_requests_abandoned_total',
        'Requests whose caller disconnected before the response was sent',
        () => byLabel('operation', abandoned),
      ),
      histogram(
        'ebs_sync_changes',
        'Changes in a push (over HTTP or a socket) or a pulled page, or bookmarks in an import',
        () => Object.values(changes),
      ),
      counter(
        'ebs_sync_conflicts_total',
        'Pushed changes that were rejected, and those that overwrote a version their device had not seen',
        () => byLabel('outcome', conflicts),
      ),
      counter(
        'ebs_sign_ins_total',
        'Sign-ins that came back from the identity provider, by outcome: completed, or why not',
        () => byLabel('outcome', signIns),
      ),
      counter('ebs_swept_total', 'Rows and objects that sweeps of this process have removed, by sweep', () =>
        byLabel('sweep', swept),
      ),
      counter('ebs_sweep_failures_total', 'Sweeps of this process that failed', () => byLabel('sweep', failedSweeps)),
    ],
  }
}

function samplesOf(operation: string, statuses: ReadonlyMap<number, Answers>): Sample[] {
  return [...statuses].map(([status, { count }]) => [{ operation, status }, count])
}

export function counter(name: string, help: string, read: Family['read']): Family {
  return { name, type: 'counter', help, read }
}

export function gauge(name: string, help: string, read: Family['read']): Family {
  return { name, type: 'gauge', help, read }
}

function histogram(name: string, help: string, list: () => Iterable<Histogram>): Family {
  return { name, type: 'histogram', help, read: () => [...list()].flatMap((histogram) => histogram.samples()) }
}

class Counts extends Map<string, number> {
  /** The keys are exposed before anything is counted. */
  constructor(keys: string[] = []) {
    super(keys.map((key) => [key, 0]))
  }

  add(key: string, amount = 1): void {
    this.set(key, (this.get(key) ?? 0) + amount)
  }
}

class Histogram {
  #count = 0
  #sum = 0
  readonly #labels: Record<string, string>
  readonly #bounds: number[]
  readonly #counts: number[]

  constructor(labels: Record<string, string>, bounds: number[]) {
    this.#labels = labels
    this.#bounds = bounds
    this.#counts = bounds.map(() => 0)
  }

  observe(value: number): void {
    this.#count++
    this.#sum += value
    const index = this.#bounds.findIndex((bound) => value <= bound)
    if (index >= 0) this.#counts[index] = (this.#counts[index] ?? 0) + 1
  }

  /** Each bucket includes those below it. */
  samples(): Sample[] {
    if (this.#count === 0) return []
    const bucket = (le: number | string, value: number): Sample => [{ le, ...this.#labels }, value, '_bucket']
    let total = 0
    const buckets = this.#bounds.map((bound, index) => {
      total += this.#counts[index] ?? 0
      return bucket(bound, total)
    })
    return [
      ...buckets,
      bucket('+Inf', this.#count),
      [this.#labels, this.#sum, '_sum'],
      [this.#labels, this.#count, '_count'],
    ]
  }
}

export function byLabel(label: string, values: Counts | Record<string, number | boolean>): Sample[] {
  const entries = values instanceof Map ? [...values] : Object.entries(values)
  return entries.map(([key, value]) => [{ [label]: key }, Number(value)])
}

/** In Prometheus' text format, version 0.0.4. */
export async function writeFamilies(families: readonly Family[]): Promise<string> {
  let text = ''
  for (const { name, type, help, read } of families) {
    const values = await read()
    const samples: Sample[] = typeof values === 'number' ? [[{}, values]] : values
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
    for (const [labels, value, suffix = ''] of samples) text += `${name}${suffix}${writeLabels(labels)} ${value}\n`
    text += '\n'
  }
  return text
}

/** JSON escapes the same three characters in the same way. */
function writeLabels(labels: Record<string, string | number>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${JSON.stringify(String(value))}`)
  return pairs.length === 0 ? '' : `{${pairs.join()}}`
}
