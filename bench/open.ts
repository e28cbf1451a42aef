import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildService, serviceFolder } from '../scripts/package/service.ts'
import { startPostgres } from '../scripts/servers/postgres.ts'
import { createDatabase } from './data.ts'
import { findPeers } from './peers/peers.ts'
import { type Contender, openServices, type Server, type Services, startOn } from './servers/service.ts'
import { startWorker, type Worker } from './worker/worker.ts'

export interface Options {
  postgres: boolean
  peers: boolean
  quick: boolean
  /** The main module of an earlier version of the service, to measure for comparison. */
  before: string | undefined
}

/** The workers, folders and servers that the rows share. */
export interface Bench {
  isQuick: boolean
  /** The process that sends requests to the servers. */
  load: Worker
  /** The process that does the same work without the service, for the contender `limit`. */
  raw: Worker
  /** The database for work without the service: an SQLite file or a `postgres:` URL. */
  rawDatabase: string
  /** For temporary files. Removed at the end. */
  folder: string
  services: Services
  /** Returns `quick` with `--quick`, and otherwise `complete`. */
  size(complete: number, quick: number): number
  /** Measures on servers that all rows share: this service, the earlier version and the peers (other products). */
  onServers(measure: (server: Server) => ReturnType<Measure>): Promise<Contenders>
  /** `onServers` without the peers. */
  onService(measure: (server: Server) => ReturnType<Measure>): Promise<Contenders>
  /** Like `onServers`, but the row starts its own servers. */
  withContenders(open: (contender: Contender) => Promise<Measure>): Promise<Contenders>
  /** `withContenders` without the peers. */
  withServices(open: (services: Services) => Promise<Measure>): Promise<Contenders>
}

export async function openBench(options: Options, opened: AsyncDisposableStack): Promise<Bench> {
  const keep = <Part extends { close(): Promise<void> }>(part: Part): Part => opened.adopt(part, (it) => it.close())
  const folder = await mkdtemp(join(tmpdir(), 'ebs-bench-'))
  // The folder may hold gigabytes, which must not stay after Ctrl-C.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  process.once('SIGINT', () => process.exit(130))
  const postgresUrl = options.postgres ? keep(await startPostgres()).url : undefined
  const rawDatabase = postgresUrl === undefined ? join(folder, 'raw.db') : await createDatabase(postgresUrl, 'raw')
  const [load, raw] = [keep(await startWorker()), keep(await startWorker())]
  await buildService()
  const services = openServices(fileURLToPath(new URL('main.mjs', serviceFolder)), postgresUrl, folder)
  const { before } = options
  const ours = {
    service: services,
    ...(before !== undefined && { before: openServices(resolve(before), postgresUrl, folder) }),
  }
  const peers = options.peers ? await findPeers(folder) : {}
  const startShared = (contender: Contender) => contender.prepare().then(startOn).then(keep)
  const ourServers = once(() => forEach(ours, startShared))
  const peerServers = once(() => forEach(peers, startShared))
  return {
    isQuick: options.quick,
    load,
    raw,
    rawDatabase,
    folder,
    services,
    size: (complete, quick) => (options.quick ? quick : complete),
    onServers: async (measure) => each({ ...(await ourServers()), ...(await peerServers()) }, measure),
    onService: async (measure) => each(await ourServers(), measure),
    withContenders: async (open) => ({ ...(await forEach(ours, open)), ...(await forEach(peers, open)) }),
    withServices: (open) => forEach(ours, open),
  }
}

function each(servers: { service: Server }, measure: (server: Server) => ReturnType<Measure>): Contenders {
  const measures = Object.entries(servers).map(([name, server]) => [name, () => measure(server)])
  return Object.fromEntries(measures)
}

async function forEach<Own, Name extends string, Result>(
  all: Partial<Record<Name, Own>>,
  work: (own: Own) => Promise<Result>,
): Promise<Record<Name, Result>> {
  const results: Partial<Record<Name, Result>> = {}
  for (const [name, own] of Object.entries(all) as [Name, Own][]) results[name] = await work(own)
  return results as Record<Name, Result>
}

/** Runs the work at the first call. Later calls get the same result. */
function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined
  return () => {
    result ??= work()
    return result
  }
}

/** The measurements that `npm run bench` makes under one name. */
export interface Row {
  /** The row's only figure. A row with several has `lines` instead, by name. */
  line?: Line
  lines?: Record<string, Line>
  /** Prepares what all rounds need, and adds to `opened` what must be closed after them. */
  open(bench: Bench, opened: AsyncDisposableStack): Promise<Contenders>
}

export interface Line {
  work: string
  /** The work of the contender `limit`, the same without the service; or the reason why there is none. */
  limit: string
  unit: string
  target?: Target
}

/** `atLeast` and `atMost` bound the figure divided by that of `limit`; `figureAtMost` bounds the figure itself. */
export type Target = { atLeast: number } | { atMost: number } | { figureAtMost: number }

/** Each function measures one round. Contenders other than `service` and `limit` are shown for comparison. */
type Contenders = { service: Measure; limit?: Measure } & Record<string, Measure>
export type Measure = () => Promise<number | Figures>
/** Figures by the name of their line. A contender may leave some out. */
export type Figures = Record<string, number>
