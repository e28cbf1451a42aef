import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { startPostgres } from '../servers/postgres.ts'
import type { Contenders, Measure } from './contenders.ts'
import { createDatabase } from './data/database.ts'
import type { Server } from './servers/server.ts'
import { openServices, type Services } from './servers/service.ts'
import { startWorker, type Worker } from './worker/worker.ts'

export interface Options {
  postgres: boolean
  quick: boolean
  /** Another checkout of this project, whose service is measured, too. */
  before: string | undefined
}

/** What the rows share. */
export interface Bench {
  isQuick: boolean
  postgresUrl: string | undefined
  /** Makes the load. */
  load: Worker
  /** Does the limit's work. */
  raw: Worker
  /** A file or a `postgres:` URL for the raw driver. */
  rawDatabase: string
  folder: string
  services: Services
  /** The number for a complete run, or the one that shows that the row works. */
  size(complete: number, quick: number): number
  /** One round on each of the services that the rows share: this one and the one before. */
  onService(measure: (server: Server) => ReturnType<Measure>): Promise<Contenders>
  /** The same for services that the row starts itself. */
  withServices(open: (services: Services) => Promise<Measure>): Promise<Contenders>
}

export async function openBench(options: Options, opened: AsyncDisposableStack): Promise<Bench> {
  const keep = <Part extends { close(): Promise<void> }>(part: Part): Part => opened.adopt(part, (it) => it.close())
  const folder = await mkdtemp(join(tmpdir(), 'ebs-bench-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const postgresUrl = options.postgres ? keep(await startPostgres()).url : undefined
  const rawDatabase = postgresUrl === undefined ? join(folder, 'raw.db') : await createDatabase(postgresUrl, 'raw')
  const [load, raw] = [keep(await startWorker()), keep(await startWorker())]
  const services = openServices(undefined, postgresUrl, opened)
  const before =
    options.before === undefined
      ? undefined
      : openServices(join(resolve(options.before), 'src/main.ts'), postgresUrl, opened)

  const ours = once(async () => ({
    service: keep(await services.start()),
    ...(before && { before: keep(await before.start()) }),
  }))
  return {
    isQuick: options.quick,
    postgresUrl,
    load,
    raw,
    rawDatabase,
    folder,
    services,
    size: (complete, quick) => (options.quick ? quick : complete),
    onService: async (measure) => each(await ours(), measure),
    withServices: async (open) => ({
      service: await open(services),
      ...(before && { before: await open(before) }),
    }),
  }
}

function each(servers: Record<string, Server>, measure: (server: Server) => ReturnType<Measure>): Contenders {
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, () => measure(server)]),
  ) as Contenders
}

/** Runs it at the first call. */
function once<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined
  return () => (result ??= work())
}
