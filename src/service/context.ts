import type { FastifyBaseLogger } from 'fastify'
import { followUses, type SessionUses } from './auth/sessions.ts'
import type { Backups } from './backup/schedule.ts'
import { openBackups } from './backup/schedule.ts'
import type { Config } from './config/config.ts'
import type { Database } from './db/engine/database.ts'
import { openDatabase } from './db/open.ts'
import { type ActiveDownloads, followDownloads } from './exports/downloads.ts'
import { type ExportWorker, startExportWorker } from './exports/worker.ts'
import { type Budgets, createBudgets } from './load/budget.ts'
import { createLimits, type Limits } from './load/rates.ts'
import type { Notices } from './notices/notices.ts'
import { openNotices } from './notices/open.ts'
import { openObjectStore } from './objects/open.ts'
import type { ObjectStore } from './objects/store.ts'
import { demandSameTime, type Health, startHealth } from './operating/health.ts'
import { createMetrics, type Metrics } from './operating/metrics.ts'
import { checkSecretKey } from './operating/secret-key.ts'
import { openIdentityProvider } from './provider/open.ts'
import type { Provider } from './provider/provider.ts'
import { createHub, type Hub } from './realtime/hub.ts'
import { createSeal, loadDevelopmentSecret, type Seal } from './seal/seal.ts'
import { openTracing } from './tracing/open.ts'
import type { Tracing } from './tracing/trace.ts'
import { type Erasure, startErasure } from './upkeep/erasure.ts'
import { type Sweeps, startSweeps } from './upkeep/sweeps.ts'

/** All parts of the service. Each names what it needs of the others as a type of its own; none imports this one. */
export interface Context extends Budgets {
  config: Config
  log: FastifyBaseLogger
  /** The server's clock, Unix ms. */
  clock: () => number
  database: Database
  seal: Seal
  limits: Limits
  tracing: Tracing
  metrics: Metrics
  provider: Provider
  objects: ObjectStore
  notices: Notices
  hub: Hub
  uses: SessionUses
  exportWorker: ExportWorker
  activeDownloads: ActiveDownloads
  erasure: Erasure
  health: Health
  sweeps: Sweeps
  /** Undefined if none are scheduled. */
  backups: Backups | undefined
  /** Closes everything in the reverse order of opening. */
  close(): Promise<void>
}

export interface ContextOptions {
  log: FastifyBaseLogger
  clock?: () => number
}

export async function openContext(config: Config, { log, clock = Date.now }: ContextOptions): Promise<Context> {
  const opened = new AsyncDisposableStack()
  const keep = <T extends { close(): Promise<void> }>(part: T): T => opened.adopt(part, (it) => it.close())
  try {
    const tracing = keep(await openTracing(config, log))
    const secretKeys = config.secretKeys ?? [await loadDevelopmentSecret(config.dataDir)]
    const seal = createSeal(secretKeys)
    const database = keep(await openDatabase(config.databaseUrl, log, config.databaseServer))
    await demandSameTime(database)
    await checkSecretKey({ database, seal, log })
    const objects = keep(await openObjectStore(config, log))
    const provider = keep(await openIdentityProvider(config))
    const notices = keep(await openNotices(config, log))
    const limits = createLimits(config)
    const base = {
      config,
      log,
      clock,
      tracing,
      database,
      seal,
      limits,
      ...createBudgets(),
      metrics: createMetrics(),
      provider,
      objects,
      notices,
    }
    const hub = keep(createHub(base))
    const uses = keep(followUses(base))
    const exportWorker = keep(startExportWorker(base))
    const activeDownloads = keep(followDownloads(base))
    const erasure = keep(startErasure(base))
    const health = keep(startHealth(base))
    const sweeps = keep(startSweeps(base))
    const backups = openBackups(config, secretKeys, log)
    if (backups) keep(backups)
    return {
      ...base,
      hub,
      uses,
      exportWorker,
      activeDownloads,
      erasure,
      health,
      sweeps,
      backups,
      close: () => opened.disposeAsync(),
    }
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}
