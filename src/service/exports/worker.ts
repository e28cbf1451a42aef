import type { FastifyBaseLogger } from 'fastify'
import { exportFile } from '../../protocol/export-file.ts'
import type { Database, Db } from '../db/engine/database.ts'
import { type BookmarkRow, listById } from '../db/tables/bookmarks.ts'
import {
  claimJob,
  completeExport,
  deferJob,
  failAttempt,
  hasFailed,
  isAbandoned,
  isCurrent,
  type Job,
  listWaitingJobs,
  postponeExport,
  recoverJob,
  releaseExport,
  renewLease,
  type WaitingJob,
  waitingAtOnce,
} from '../db/tables/exports.ts'
import type { Limits } from '../load/rates.ts'
import type { Notices } from '../notices/notices.ts'
import { type ObjectStore, ObjectStoreUnavailableError, objectKeyOf } from '../objects/store.ts'
import { openExportKey, unopened } from '../seal/export-key.ts'
import type { Seal } from '../seal/seal.ts'
import { encryptFile } from './file.ts'

export const keptMs = 7 * 24 * 60 * 60 * 1000
const maxRunning = 2
const tickMs = 5_000
/** Ticks during which postponed jobs are retried: they wait for at most two ticks, and one may come early. */
const retryTicks = 3
/** Ticks between two searches without a notification: one may have been lost, or a worker may have died. */
const ticksPerPoll = 6
/** Bytes of a page, if its bookmarks are no larger than the previous page's. At worst, a page has 16 MiB. */
const pageBytes = 256 * 1024
const maxPageLength = 64
/** A page counts as this many requests in the user's rate limit: it takes about a millisecond. */
const pageCost = 0.1
/** Characters from which a ciphertext is yielded alone: appended to other text, it would be copied. */
const largeText = 16 * 1024

interface Parts {
  log: FastifyBaseLogger
  clock: () => number
  database: Pick<Database, 'db' | 'write' | 'bulk' | 'now'>
  seal: Seal
  objects: Pick<ObjectStore, 'put' | 'remove'>
  limits: Pick<Limits, 'spend' | 'isUsedUp'>
  notices: Pick<Notices, 'publishJob' | 'subscribe'>
}

/** `postponed`: the store is unreachable. `dropped`: stopped, or the export was deleted or has another worker. */
type Outcome = 'completed' | 'failed' | 'postponed' | 'dropped'

export type ExportWorker = ReturnType<typeof startExportWorker>

interface Run {
  job: Job
  abort: AbortController
  done: Promise<void>
}

/**
 * Runs export jobs, two at a time, and renews their leases. A job whose lease is lost is dropped. If a user has reached
 * the rate limit, their next job starts later.
 */
export function startExportWorker(parts: Parts) {
  const { log, database, limits, notices } = parts
  const running = new Set<Run>()
  const outcomes: Record<Outcome, number> = { completed: 0, failed: 0, postponed: 0, dropped: 0 }
  let closed = false
  let looking: Promise<void> | undefined
  let again = false
  let ticks = 0
  // Within these ticks, the leases expire that a killed predecessor of this process had.
  let retriesUntil = retryTicks

  function wake(): void {
    again = true
    looking ??= look()
  }

  /** Makes this instance look for a job that it has postponed, because no other is notified of it. */
  function retry(): void {
    retriesUntil = ticks + retryTicks
  }

  async function look(): Promise<void> {
    try {
      while (again && !closed) {
        again = false
        await renewLeases()
        await takeJobs()
      }
    } catch (error) {
      retry()
      log.error({ err: error }, 'export jobs could not be claimed')
    } finally {
      looking = undefined
    }
  }

  /** Renews first, so that a process that was asleep does not take its own jobs for those of a dead worker. */
  async function renewLeases(): Promise<void> {
    if (running.size === 0) return
    const lost = await database.write(async (trx) => {
      const runs: Run[] = []
      for (const run of running) if (!(await renewLease(trx, run.job, database.now))) runs.push(run)
      return runs
    })
    for (const { abort } of lost) abort.abort()
  }

  async function takeJobs(): Promise<void> {
    for (let isMore = true; isMore; ) {
      const waiting = await listWaitingJobs(database.db, database.now)
      for (const found of waiting) if (!closed) await take(found)
      isMore = waiting.length === waitingAtOnce && running.size < maxRunning && !closed
    }
  }

  async function take(found: WaitingJob): Promise<void> {
    const { now } = database
    const isFull = running.size === maxRunning
    if (isAbandoned(found) && (isFull || hasFailed(found))) {
      await database.write((trx) => recoverJob(trx, found, now))
    } else if (isFull) {
      return
    } else if (limits.isUsedUp(found.user_id)) {
      retry()
      await database.write((trx) => deferJob(trx, found, now))
    } else {
      const job = await database.write((trx) => claimJob(trx, found, now))
      if (job) start(job)
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
        if (outcome === 'failed' || outcome === 'postponed') retry()
        if (closed) notices.publishJob()
        // The next job needs the same store, so all wait for the next tick.
        else if (outcome !== 'postponed') wake()
      })
    const run = { job, abort, done }
    running.add(run)
  }

  async function abortAll(runs: Run[]): Promise<void> {
    for (const { abort } of runs) abort.abort()
    await Promise.all(runs.map(({ done }) => done))
  }

  const timer = setInterval(() => {
    ticks++
    if (running.size > 0 || ticks <= retriesUntil || ticks % ticksPerPoll === 0) wake()
  }, tickMs).unref()
  notices.subscribe({
    jobWaits() {
      if (running.size < maxRunning) wake()
    },
    missed: wake,
  })
  wake()
  return {
    /** Looks for jobs. Notifies other instances of a new job if this one is busy. */
    async wake(newJob?: string): Promise<void> {
      wake()
      await looking
      const isTaken = [...running].some(({ job }) => job.id === newJob)
      if (newJob !== undefined && !isTaken && running.size === maxRunning) notices.publishJob()
    },
    /** For a deleted export: resolves once nothing here works on it and its data has been removed. */
    async stop(exportId: string): Promise<void> {
      await looking
      await abortAll([...running].filter(({ job }) => job.id === exportId))
    },
    /** The number of attempts since the start, by outcome. */
    outcomes: () => outcomes,
    /** Stops the running jobs, and releases them to other instances. */
    async close(): Promise<void> {
      closed = true
      clearInterval(timer)
      await looking
      await abortAll([...running])
    },
  }
}

/** Stores the file before the row names it: a crash in between leaves an orphaned object, but never half an export. */
async function attempt(parts: Parts, job: Job, signal: AbortSignal): Promise<Outcome> {
  const { log, clock, database, objects } = parts
  const object_key = objectKeyOf(job)
  try {
    const file = await writeExport(parts, job, object_key, signal)
    const expires_at = clock() + keptMs
    const completed = await database.write((trx) => completeExport(trx, job, { ...file, object_key, expires_at }))
    if (completed) return 'completed'
    await objects.remove(object_key)
    return 'dropped'
  } catch (error) {
    // Read before the job is given back: after that, the next renewal finds the lease lost and aborts the signal, too.
    const isStopped = signal.aborted
    const isUnreachable = !isStopped && error instanceof ObjectStoreUnavailableError
    const about = { err: error, exportId: job.id, attempt: job.attempts }
    if (isUnreachable) log.warn(about, 'an export is postponed: the object store is unreachable')
    else if (!isStopped) log.error(about, 'an attempt at an export failed')
    const giveBack = isStopped ? releaseExport : isUnreachable ? postponeExport : failAttempt
    // If the job cannot be given back, the write that seemed to fail may have completed it, and the object must stay.
    const isOrphan = await database.write(
      async (trx) => (await giveBack(trx, job, database.now)) || !(await isCurrent(trx, job)),
    )
    if (isUnreachable) return 'postponed'
    if (isOrphan) await objects.remove(object_key)
    return isStopped ? 'dropped' : 'failed'
  }
}

/** Writes an export's file in constant memory. It contains each bookmark's ciphertext from the client. */
async function writeExport(
  { clock, database, seal, objects, limits }: Parts,
  { id, user_id, key_sealed }: Job,
  objectKey: string,
  signal: AbortSignal,
): Promise<{ size_bytes: number; bookmark_count: number }> {
  const exportKey = openExportKey(seal, user_id, id, key_sealed)
  if (!exportKey) throw new Error(unopened(id))
  const exportedAt = new Date(clock()).toISOString()
  let bookmark_count = 0

  async function* json(): AsyncGenerator<string> {
    let text = `{"version":"${exportFile.contentVersion}","exported_at":"${exportedAt}","bookmarks":[`
    for await (const page of pagesOf(database.bulk, user_id)) {
      // The rate limit never stops a started export, because a large file could otherwise not be completed.
      limits.spend(user_id, pageCost)
      for (const { before, ciphertext, after } of page.map(partsOf)) {
        text += bookmark_count++ > 0 ? `,${before}` : before
        if (ciphertext.length < largeText) text += ciphertext
        else {
          yield text
          yield ciphertext
          text = ''
        }
        text += after
      }
      yield text
      text = ''
    }
    yield `${text}],"bookmark_count":${bookmark_count}}`
  }

  const size_bytes = await objects.put(objectKey, exportKey, encryptFile(exportKey, json()), signal)
  return { size_bytes, bookmark_count }
}

/** Reads short pages by id instead of one long transaction. A bookmark that stays live is read exactly once. */
async function* pagesOf(db: Db, userId: string): AsyncGenerator<BookmarkRow[]> {
  let length = 1
  for (let after = ''; ; ) {
    const page = await listById(db, { userId, after, limit: length })
    yield page
    const last = page.at(-1)
    if (!last || page.length < length) return
    after = last.entity_id
    const largest = Math.max(...page.map(({ encrypted_data }) => encrypted_data?.length ?? 0))
    length = Math.max(1, Math.min(maxPageLength, Math.floor(pageBytes / largest)))
  }
}

/** A bookmark's JSON in three parts, so that a long ciphertext is not copied. */
function partsOf({ entity_id, encrypted_data, data_hash, created_at, updated_at }: BookmarkRow) {
  return {
    before: `{"id":"${escaped(entity_id)}","encrypted_data":"`,
    ciphertext: escaped(encrypted_data ?? ''),
    after: `","data_hash":${data_hash === null ? null : `"${escaped(data_hash)}"`},"created_at":${created_at},"updated_at":${updated_at}}`,
  }
}

/** Stored texts are printable ASCII, as in the contract, so only quotes and backslashes need escaping. */
function escaped(text: string): string {
  return text.includes('"') || text.includes('\\') ? JSON.stringify(text).slice(1, -1) : text
}
