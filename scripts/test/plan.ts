import { glob } from 'node:fs/promises'
import { dirname, matchesGlob, relative, resolve } from 'node:path'
import { UsageError } from '../../src/service/terminal/command.ts'

export interface TestProcess {
  name: string
  files: string[]
  database: 'SQLite' | 'Postgres'
  /** True if the process needs MinIO, and so waits until it is built. */
  usesMinio: boolean
  /** True if the process waits until the page, the documents and the service's bundle are built. */
  usesBuild: boolean
}

export interface Plan {
  /** The longest processes come first. */
  processes: TestProcess[]
  /** Tests of the traffic that all other tests recorded. They run last. */
  recorded: TestProcess[]
}

/**
 * Tests that also run on Postgres, because the service may behave differently there: locks and serialization,
 * visibility in transactions, NOTIFY, text and its order, the pool. The differential test compares responses in general.
 */
const onPostgres = [
  'test/postgres/*',
  'test/sync/*',
  'test/realtime/{broadcast,closing}.test.ts',
  'test/commands/{admin-accounts,moving-users,one-account,restored}.test.ts',
  'test/auth/{access,attempts,in-flight,login-limits,named-user,refresh,sessions,sign-out,two-users,recent-sign-in}.test.ts',
  'test/db/{migrations,statements,wrong-clock}.test.ts',
  'test/operations/{exports-instances,exports-removed,keyrings,pairings,whole-account}.test.ts',
  'test/hostile/ids.test.ts',
  'test/http/metrics.test.ts',
]
/** Exceptions of `onPostgres` without --deep: independent of the database, or covered by the differential test. */
const onPostgresOnlyInDepth = [
  'test/sync/{devices,entity-types,history*,import,overwriting,rest,retry,room,status,unseen}.test.ts',
  'test/auth/{access,attempts,in-flight,login-limits,named-user,recent-sign-in,two-users}.test.ts',
  'test/{hostile/ids,operations/keyrings,operations/pairings}.test.ts',
]
/** Tests that also run on Postgres with --deep: most of those that reach data through the service. */
const onPostgresInDepth = [
  ...onPostgres,
  'test/{hostile,http,interface,operations,realtime,sync}/*',
  'test/client/chaos/*',
  'test/client/sync/{lost-laptop,rotation}.test.ts',
  'test/commands/{admin,move-issuer,reseal}*',
  'test/log.test.ts',
]

/**
 * Tests that run only with --deep. Other tests cover most of them in part: command-lines calls `bench` and `explain`;
 * exports-instances and exports/crash test the parts of the export race, verdicts the changes of the review's mutations,
 * and story, presses, manage, client/package and the client's tests do what those in test/web do.
 */
const inDepth = [
  'test/{bench,explain,commands/owner,deploy/upgrade-lines}.test.ts',
  'test/postgres/{cluster,export-race}.test.ts',
  'test/review/{base,mutations}.test.ts',
  'test/web/{changed-elsewhere,find-and-tidy,forms,groups,guide-react,human-speed}.test.ts',
  'test/web/{places,reading,sidebar,two-devices}.test.ts',
]

const onMinio = [
  'test/objects/*',
  'test/exports/*',
  'test/operations/export*',
  'test/backup/{line,scheduled}.test.ts',
  'test/postgres/{differential,export-race}.test.ts',
]

/** Checks what the tests before it have sent, so it runs last in each process on Postgres. */
const sentToPostgres = 'test/postgres/sent.test.ts'

/** Tests that need nothing that is built, and so run during the build. */
const onSources = ['test/sync/*', 'test/realtime/*', 'test/client/chaos/*', 'test/extension/walk.test.ts']

/** Tests in separate processes: they take long, or measure or alter their process. Others share one per folder. */
const alone = [
  'test/client/chaos/chaos.test.ts',
  'test/extension/walk.test.ts',
  'test/exports/large.test.ts',
  'test/hostile/every-call.test.ts',
  'test/process/crash.test.ts',
  'test/postgres/differential.test.ts',
  'test/postgres/export-race.test.ts',
  'test/demo.test.ts',
  'test/docs/operating.test.ts',
  'test/client/package.test.ts',
]

/** These take half of the page tests' time, and run in a second process, because each mostly waits for its browser. */
const halfOfWeb = 'test/web/{docs,handover,presses,sign-in-again,states,story}.test.ts'

/** Folders of short tests that share a process, so that the service is loaded once. */
const together = [
  ['test/client', 'test/client/api', 'test/client/bookmark-file', 'test/client/node', 'test/client/testing'],
  ['test/auth', 'test/db', 'test/operations', 'test/provider'],
  ['test', 'test/backup', 'test/contract', 'test/deploy', 'test/docs', 'test/protocol'],
]

/** Folders with few short tests, which share a process on Postgres. */
const togetherOnPostgres = [
  'test/auth',
  'test/commands',
  'test/db',
  'test/hostile',
  'test/http',
  'test/operations',
  'test/realtime',
]

/** The processes to start first, in this order, so that none of the longest is still running alone at the end. */
const longest = [
  'test/web on SQLite',
  'test/web, the other half on SQLite',
  'test/client, test/client/api, test/client/bookmark-file, test/client/node, test/client/testing on SQLite',
  'test, test/backup, test/contract, test/deploy, test/docs, test/protocol on SQLite',
  'test/commands on SQLite',
  'test/extension on SQLite',
  'test/objects on SQLite',
  'test/postgres on Postgres',
  'test/client/sync on SQLite',
  'test/exports and others on MinIO on SQLite',
  'test/auth, test/commands, test/db, test/hostile, test/http, test/operations, test/realtime on Postgres',
  'test/http on SQLite',
  'test/process on SQLite',
  'test/auth, test/db, test/operations, test/provider on SQLite',
  'test/hostile/every-call.test.ts on SQLite',
  'test/review on SQLite',
  'test/sync on SQLite',
  'test/sync on Postgres',
  'test/realtime on SQLite',
  'test/hostile on SQLite',
]

/** Plans the processes for all tests, or for the `named` ones. */
export async function planTests(named: string[], depth: 'quick' | 'deep'): Promise<Plan> {
  const all = await matching(['test/**/*.test.ts'])
  const paths = named.map((path) => relative('', resolve(path)))
  const unknown = paths.filter((path) => !all.includes(path))
  if (unknown.length > 0) throw new UsageError(`there is no test file ${unknown.join(', ')}`)
  const isPlanned = (file: string) => depth === 'deep' || !isIn(file, inDepth)
  const isChosen = (file: string) => (paths.length === 0 ? isPlanned(file) : paths.includes(file))
  const recorded = await matching(['test/recorded/*'])
  const sqlite = all.filter((file) => !file.startsWith('test/postgres/') && !recorded.includes(file))
  const quick = (await matching(onPostgres)).filter((file) => !isIn(file, onPostgresOnlyInDepth))
  const postgres = depth === 'deep' ? await matching(onPostgresInDepth) : quick
  const processes = [
    ...inProcesses(sqlite.filter(isChosen), 'SQLite'),
    ...inProcesses(postgres.filter(isChosen), 'Postgres'),
  ]
  return {
    processes: processes.sort((one, other) => startOf(one) - startOf(other)),
    recorded: inProcesses(recorded.filter(isChosen), 'SQLite'),
  }
}

function startOf({ name, files: [first = ''] }: TestProcess): number {
  if (longest.includes(name)) return longest.indexOf(name)
  return longest.length + (alone.includes(first) ? 0 : 1)
}

function inProcesses(files: string[], database: TestProcess['database']): TestProcess[] {
  const groups = Map.groupBy(files, (file) => processOf(file, database))
  return [...groups].map(([name, own]) => ({
    name: `${name} on ${database}`,
    files: database === 'Postgres' ? [...own.filter((file) => file !== sentToPostgres), sentToPostgres] : own,
    database,
    usesMinio: own.some((file) => isIn(file, onMinio)),
    usesBuild: !own.every((file) => isIn(file, onSources)),
  }))
}

function processOf(file: string, database: TestProcess['database']): string {
  const folder = dirname(file)
  if (alone.includes(file)) return file
  if (matchesGlob(file, halfOfWeb)) return 'test/web, the other half'
  if (isIn(file, onMinio)) return folder === 'test/objects' ? folder : 'test/exports and others on MinIO'
  const shared = database === 'Postgres' ? [togetherOnPostgres] : together
  return shared.find((folders) => folders.includes(folder))?.join(', ') ?? folder
}

function isIn(file: string, patterns: string[]): boolean {
  return patterns.some((pattern) => matchesGlob(file, pattern))
}

async function matching(patterns: string[]): Promise<string[]> {
  return [...new Set(await Array.fromAsync(glob(patterns)))].filter((path) => path.endsWith('.test.ts')).sort()
}
