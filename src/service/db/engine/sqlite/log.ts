import { once } from 'node:events'
import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import type Sqlite from 'better-sqlite3'
import { isBundle } from '../../../bundle.ts'

/** If this many bytes have not been moved into the database file yet, moving them is worth its two syncs to disk. */
const checkpointBytes = 16 * 1024 * 1024
/** For less than this, no thread is started: truncating the log moves it in the time of a few commits. */
const littleBytes = 1024 * 1024
/** At this length (bytes), the next transaction waits for a checkpoint, so that the log can start over. */
export const maxLogBytes = 64 * 1024 * 1024

const program = new URL(isBundle ? './checkpoint-thread.mjs' : './checkpoint-thread.ts', import.meta.url)

/** Maintains SQLite's write-ahead log without blocking the event loop. */
export interface WriteAheadLog {
  /** Call it after each transaction. Starts a checkpoint if one is due, and waits for it if the log is too long. */
  checkpoint(): Promise<void>
  /** Moves committed data into the database file, unless that would start a thread for less than `littleBytes`. */
  move(): Promise<void>
  /** Syncs a large transaction's writes so far, so that its commit, which blocks the event loop, has less to do. */
  flush(): Promise<void>
  close(): Promise<void>
}

export function openWriteAheadLog(sqlite: Sqlite.Database, path: string): WriteAheadLog {
  const pageBytes = sqlite.pragma('page_size', { simple: true }) as number
  // If the log gets this long, the thread's checkpoints are failing, so SQLite runs one itself after a commit.
  sqlite.pragma(`wal_autocheckpoint = ${(4 * maxLogBytes) / pageBytes}`)
  // Rows are arrays: for objects, the driver would compile a new function each time.
  const readLength = sqlite
    .prepare<[], [busy: 0, log: number, checkpointed: number]>('pragma wal_checkpoint(noop)')
    .raw()
  let thread: Thread | undefined
  let running: Promise<void> | undefined
  let file: number | undefined
  let isClosed = false

  function length(): { bytes: number; due: number } {
    const [, log, checkpointed] = readLength.get() as [0, number, number]
    return { bytes: log * pageBytes, due: (log - checkpointed) * pageBytes }
  }

  /** Runs a checkpoint. Data that it could not move is due again at the next transaction. */
  async function run(): Promise<void> {
    // If a transaction calls this after the close, nothing would end the thread.
    if (isClosed) return
    thread ??= startThread(path)
    await thread.checkpoint().catch(() => {
      thread = undefined
    })
    running = undefined
  }

  return {
    async checkpoint() {
      const { bytes, due } = length()
      if (due >= checkpointBytes) running ??= run()
      if (bytes < maxLogBytes || due === 0) return
      // The running checkpoint may not cover what was committed after its start.
      await running
      running = run()
      await running
    },
    async move() {
      await running
      if (thread === undefined && length().due < littleBytes) return
      running ??= run()
      await running
    },
    async flush() {
      file ??= openSync(`${path}-wal`, 'r')
      await promisify(fdatasync)(file)
    },
    async close() {
      isClosed = true
      await running
      if (file !== undefined) closeSync(file)
      // A second close must not close the descriptor again: another file may have its number by then.
      file = undefined
      await thread?.close()
    },
  }
}

interface Thread {
  checkpoint(): Promise<void>
  close(): Promise<void>
}

function startThread(path: string): Thread {
  const worker = new Worker(program, {
    workerData: path,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 1 },
  })
  // An error of the thread ends it, too.
  const ended = once(worker, 'exit').catch(() => {})
  return {
    async checkpoint() {
      worker.postMessage('checkpoint')
      await Promise.race([once(worker, 'message'), ended.then(() => Promise.reject(new Error('The thread has ended')))])
    },
    async close() {
      worker.postMessage('close')
      await ended
    },
  }
}
