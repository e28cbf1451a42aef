import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import {
  claimExport,
  completeExport,
  failAttempt,
  type Job,
  postponeExport,
  recoverExports,
  releaseExport,
  renewLease,
} from '../db/tables/exports.ts'
import { type ObjectStore, ObjectStoreUnavailableError, objectKeyOf } from '../objects/store.ts'
import type { Seal } from '../seal/seal.ts'
import { openExportKey } from './key.ts'
import { writeExport } from './write.ts'

export const keptMs = 7 * 24 * 60 * 60 * 1000

interface Parts {
  log: FastifyBaseLogger
  clock: () => number
  database: Pick<Database, 'write' | 'bulk' | 'now'>
  seal: Seal
  objects: Pick<ObjectStore, 'put' | 'remove'>
}

const maxRunning = 2
const tickMs = 5_000

/** `postponed`: the store is unreachable. `dropped`: stopped, or the export now has another worker or was deleted. */
type Outcome = 'completed' | 'failed' | 'postponed' | 'dropped'

export interface ExportWorker {
  /** Call this when there may be a job. */
  wake(): void
  /** For a deleted export: resolves once nothing here works on it any more, and what was written has been removed. */
  stop(exportId: string): Promise<void>
  /** Attempts since the start, by outcome. */
  outcomes(): Record<Outcome, number>
  /** Releases the running jobs. */
  close(): Promise<void>
}

interface Run {
  job: Job
  abort: AbortController
  done: Promise<void>
}

/** Claims jobs, two at a time, and renews their leases. A job whose lease is lost is dropped. */
export function startExportWorker(parts: Parts): ExportWorker {
  const { log, database } = parts
  const running = new Set<Run>()
  const outcomes = { completed: 0, failed: 0, postponed: 0, dropped: 0 }
  let closed = false
  let ticking: Promise<void> | undefined
  let again = false

  function wake(): void {
    again = true
    ticking ??= tick()
  }

  async function tick(): Promise<void> {
    try {
      while (again && !closed) {
        again = false
        await checkLeases()
        await takeJobs()
      }
    } catch (error) {
      log.error({ err: error }, 'export jobs could not be claimed')
    } finally {
      ticking = undefined
    }
  }

  /** Renews its own first, so that a process that was asleep does not mistake its own jobs for those of a dead one. */
  async function checkLeases(): Promise<void> {
    const lost = await database.write(async (trx) => {
      const runs: Run[] = []
      for (const run of running) if (!(await renewLease(trx, run.job, database.now))) runs.push(run)
      await recoverExports(trx, database.now)
      return runs
    })
    for (const { abort } of lost) abort.abort()
  }

  async function takeJobs(): Promise<void> {
    while (running.size < maxRunning && !closed) {
      const job = await database.write((trx) => claimExport(trx, database.now))
      if (!job) return
      start(job)
    }
  }

  function start(job: Job): void {
    const abort = new AbortController()
    const done = attempt(parts, job, abort.signal)
      .catch((error): Outcome => {
        log.error({ err: error, exportId: job.id }, 'an export job could not be released')
        return 'failed'
      })
      .then((outcome) => {
        outcomes[outcome]++
        running.delete(run)
        // The next job would need the same store, so they all wait for the next tick.
        if (outcome !== 'postponed') wake()
      })
    const run = { job, abort, done }
    running.add(run)
  }

  async function abortAll(runs: Run[]): Promise<void> {
    for (const { abort } of runs) abort.abort()
    await Promise.all(runs.map(({ done }) => done))
  }

  const timer = setInterval(wake, tickMs).unref()
  wake()
  return {
    wake,
    async stop(exportId) {
      await ticking
      await abortAll([...running].filter(({ job }) => job.id === exportId))
    },
    outcomes: () => outcomes,
    async close() {
      closed = true
      clearInterval(timer)
      await ticking
      await abortAll([...running])
    },
  }
}

/** Stores the object before the row that refers to it: a crash in between leaves an orphan, never half an export. */
async function attempt(parts: Parts, job: Job, signal: AbortSignal): Promise<Outcome> {
  const { log, clock, database, objects } = parts
  const object_key = objectKeyOf(job)
  try {
    const exportKey = openExportKey(parts.seal, job.user_id, job.id, job.key_sealed)
    const file = await writeExport(
      parts,
      { objectKey: object_key, userId: job.user_id, exportKey, exportedAt: clock() },
      signal,
    )
    const expires_at = clock() + keptMs
    const completed = await database.write((trx) => completeExport(trx, job, { ...file, object_key, expires_at }))
    if (completed) return 'completed'
    await objects.remove(object_key)
    return 'dropped'
  } catch (error) {
    // Read once: a job that is given back has lost its lease, and the next check of the leases aborts it.
    const isStopped = signal.aborted
    const isUnreachable = !isStopped && error instanceof ObjectStoreUnavailableError
    const about = { err: error, exportId: job.id, attempt: job.attempts }
    if (isUnreachable) log.warn(about, 'an export is postponed: the object store is unreachable')
    else if (!isStopped) log.error(about, 'an attempt at an export failed')
    const giveBack = isStopped ? releaseExport : isUnreachable ? postponeExport : failAttempt
    const wasHeld = await database.write((trx) => giveBack(trx, job, database.now))
    if (isUnreachable) return 'postponed'
    // If the job was no longer held, the write that failed may have completed it after all.
    if (wasHeld) await objects.remove(object_key)
    return isStopped ? 'dropped' : 'failed'
  }
}
