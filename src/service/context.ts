import { totalmem } from 'node:os'
import type { FastifyBaseLogger } from 'fastify'
import { followResponses } from './auth/in-flight.ts'
import { followUses } from './auth/sessions.ts'
import { openBackups, requireDatabase } from './backup/schedule.ts'
import type { Config } from './config/config.ts'
import { openDatabase } from './db/open.ts'
import { startExportWorker } from './exports/worker.ts'
import { createGate, fullMemory } from './load/gate.ts'
import { createLimits } from './load/rates.ts'
import { openNotices } from './notices/open.ts'
import { openObjectStore } from './objects/open.ts'
import { guardClock } from './operating/clock.ts'
import { despiteDamage } from './operating/damage.ts'
import { requireSameTime, startHealth } from './operating/health.ts'
import { checkIssuer } from './operating/issuer.ts'
import { checkLeftBehind } from './operating/left-behind.ts'
import { guardLimits } from './operating/limits-guard.ts'
import { createMetrics } from './operating/metrics.ts'
import { checkSecretKey } from './operating/secret-key.ts'
import { issuerOf } from './provider/issuer.ts'
import { openIdentityProvider } from './provider/open.ts'
import { createHub } from './realtime/hub.ts'
import { createSeal, loadDevelopmentSecret } from './seal/seal.ts'
import { openTracing } from './tracing/open.ts'
import { startErasure } from './upkeep/erasure.ts'
import { startSweeps } from './upkeep/sweeps.ts'

/** All parts of the service. Each declares what it needs of the others as its own type; the app and tests use this. */
export type Context = Awaited<ReturnType<typeof openContext>>

interface Surroundings {
  log: FastifyBaseLogger
  /** The server's clock, Unix ms. */
  clock?: () => number
}

/** Warns if the memory limit of the cgroup or machine is small. */
function checkMemory(log: FastifyBaseLogger): void {
  const memory = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem())
  if (memory >= fullMemory) return
  const [has, wants] = [memory, fullMemory].map((bytes) => Math.floor(bytes / 1024 / 1024))
  log.warn(
    `the process may use ${has} MiB of memory, less than ${wants}: many large requests at once may get it killed`,
  )
}

/** Opens each part after those that it depends on. `close` closes them in reverse order. */
export async function openContext(config: Config, { log, clock = Date.now }: Surroundings) {
  const opened = new AsyncDisposableStack()
  const keep = <T extends { close(): Promise<void> } | undefined>(part: T): T =>
    opened.adopt(part, async (it) => it?.close())
  try {
    checkMemory(log)
    await requireDatabase(config)
    const tracing = keep(await openTracing(config, log))
    const secretKeys = config.secretKeys ?? [await loadDevelopmentSecret(config.dataDir)]
    const seal = createSeal(secretKeys)
    const database = keep(await openDatabase(config.databaseUrl, log, config.databaseServer))
    await requireSameTime(database)
    const clockGuard = keep(await guardClock({ config, database, clock, log }))
    const check = (subject: string, work: () => Promise<void>) => despiteDamage({ database, log }, subject, work)
    await check('SECRET_KEY', () => checkSecretKey({ database, seal, log }))
    await check('OIDC_ISSUER', () => checkIssuer({ database, issuer: issuerOf(config), log }))
    await check('DATABASE_URL', () => checkLeftBehind({ config, database, log }))
    const limitsGuard = await guardLimits({ config, database, clockGuard, clock, log })
    const base = {
      config: limitsGuard.config,
      log,
      clock,
      clockGuard,
      limitsGuard,
      tracing,
      database,
      seal,
      limits: createLimits(config),
      gate: createGate(log),
      metrics: createMetrics(),
      objects: keep(await openObjectStore(config, log)),
      provider: keep(await openIdentityProvider(config)),
      notices: keep(await openNotices(config, log)),
    }
    return {
      ...base,
      hub: keep(createHub(base)),
      uses: keep(followUses(base)),
      exportWorker: keep(startExportWorker(base)),
      inFlight: keep(followResponses(base)),
      erasure: keep(startErasure(base)),
      health: keep(startHealth(base)),
      sweeps: keep(startSweeps(base)),
      /** Undefined if there is no schedule. */
      backups: keep(await openBackups(config, secretKeys, base)),
      close: () => opened.disposeAsync(),
    }
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}
