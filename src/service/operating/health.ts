import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { sql } from 'kysely'
import { ConfigError } from '../config/values.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Database } from '../db/engine/database.ts'
import type { Fault, Faults } from '../db/engine/probe.ts'
import type { Notices } from '../notices/notices.ts'
import type { ObjectStore } from '../objects/store.ts'
import type { Provider } from '../provider/provider.ts'
import type { ClockGuard } from './clock.ts'

type Status = Schemas['Health']['status']
/** `clock` is down while it is not trusted, or was changed here and differs from the database's. */
type Down = Component | 'pulse' | 'clock'
type Component = 'database' | 'objects' | 'provider'

export type Health = ReturnType<typeof startHealth>

interface Parts {
  database: Pick<Database, 'probe'> & { faults: Pick<Faults, 'recent'> }
  objects: Pick<ObjectStore, 'probe'>
  provider: Pick<Provider, 'probe'>
  notices: Pick<Notices, 'isUp'>
  clockGuard: Pick<ClockGuard, 'jumpMs'>
  log: FastifyBaseLogger
}

/** Load balancers depend on the database's state, so it is probed often. The others cost calls over the network. */
const everyMs: Record<Component, number> = { database: 2_000, objects: 30_000, provider: 30_000 }
const whileFailingMs = 2_000
/** Synchronized clocks differ by far less. Beyond this, expiring rows might be removed too early. */
const maxDriftMs = 60_000
const names: Record<Component, string> = {
  database: 'the database',
  objects: 'the object store',
  provider: 'the identity provider',
}

/** Probes in the background, so that a health report costs nothing. Healthy until the first result. */
export function startHealth({ database, objects, provider, notices, clockGuard, log }: Parts) {
  const answers = { database: true, objects: true, provider: true }
  const stopping = new AbortController()
  let draining = false
  let driftMs = 0
  /** How far this machine's clock had been changed (ms) when it last agreed with the database's. */
  let agreedMs = 0

  function down(): Down[] {
    const { database, objects, provider } = answers
    const clock = clockGuard.jumpMs() === 0 && !isClockOff()
    const up = { database, pulse: notices.isUp(), objects, provider, clock }
    return (Object.keys(up) as (keyof typeof up)[]).filter((name) => !up[name])
  }

  /** True if only this machine's clock was changed: it would end sessions that other instances accept. */
  function isClockOff(): boolean {
    return describeFault(driftMs) !== undefined && Math.abs(setMs() - agreedMs) > maxDriftMs
  }

  async function probeDatabase(): Promise<void> {
    const before = describeFault(driftMs)
    driftMs = await measureDriftMs(() => database.probe())
    const fault = describeFault(driftMs)
    if (!fault) agreedMs = setMs()
    if (fault && !before) log.error(`${fault}: synchronize both clocks; until then nothing is swept`)
    if (before && !fault) log.info('the clocks of this machine and the database agree again')
  }

  async function watch(component: Component, probe: () => Promise<unknown>): Promise<void> {
    do {
      try {
        await probe()
        if (!answers[component]) log.info(`${names[component]} is reachable again`)
        answers[component] = true
      } catch (err) {
        if (answers[component]) log.warn({ err }, `${names[component]} is unreachable`)
        answers[component] = false
      }
      const pauseMs = answers[component] ? everyMs[component] : Math.min(everyMs[component], whileFailingMs)
      await sleep(pauseMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    } while (!stopping.signal.aborted)
  }

  const watching = Promise.all([
    watch('database', probeDatabase),
    watch('objects', () => objects.probe()),
    watch('provider', () => provider.probe()),
  ])
  return {
    status: () => toStatus(down(), database.faults.recent()),
    /** True unless another instance could do better. Data and its disk are the same for all. */
    isReady: () => !isClockOff() && !down().some((name) => name === 'database' || name === 'pulse'),
    /** Recent faults of the database's disk. */
    faults: () => database.faults.recent(),
    /** Which components the last probe reached. */
    components: () => ({ ...answers }),
    /** The unreachable components, `pulse` without other instances' notifications, and `clock` if it may be wrong. */
    down,
    /** How far this machine's clock was ahead of the database's at the last probe. */
    clockDriftMs: () => driftMs,
    /** Makes `/readyz` tell load balancers to send no more requests. */
    drain(): void {
      draining = true
    },
    isDraining: () => draining,
    async close(): Promise<void> {
      stopping.abort()
      await watching
    },
  }
}

/** Damage concerns some records; a full or failing disk concerns everybody. */
const grave = new Set<Down | Fault>(['database', 'pulse', 'full', 'failing'])

function toStatus(down: Down[], faults: Fault[]): Status {
  const all = [...down, ...faults]
  if (all.length === 0) return 'healthy'
  return all.some((one) => grave.has(one)) ? 'unhealthy' : 'degraded'
}

/** Refuses to start with a wrong clock, which might end everybody's sessions. */
export async function requireSameTime(database: Pick<Database, 'db' | 'now'>): Promise<void> {
  const fault = await findClockFault(database)
  if (fault !== undefined) throw new ConfigError(`DATABASE_URL: ${fault}; synchronize both clocks`)
}

/** Undefined if this machine's clock agrees with the database's, which all instances share. */
export async function findClockFault({ db, now }: Pick<Database, 'db' | 'now'>): Promise<string | undefined> {
  const driftMs = await measureDriftMs(async () => {
    const { rows } = await sql<{ at: number }>`select ${now} as at`.execute(db)
    return Number(rows[0]?.at)
  })
  return describeFault(driftMs)
}

/**
 * How far this machine's clock is ahead (ms).
 *
 * @param readTime resolves to the database's time (Unix ms)
 */
async function measureDriftMs(readTime: () => Promise<number>): Promise<number> {
  const askedAt = Date.now()
  const there = await readTime()
  return Math.round((askedAt + Date.now()) / 2 - there)
}

/** How far this machine's clock was changed (ms) since this process started. */
function setMs(): number {
  return Date.now() - (performance.timeOrigin + performance.now())
}

function describeFault(driftMs: number): string | undefined {
  if (Math.abs(driftMs) <= maxDriftMs) return undefined
  const seconds = Math.abs(Math.round(driftMs / 1000))
  return `this machine's clock is ${seconds} s ${driftMs > 0 ? 'ahead of' : 'behind'} the database's`
}
