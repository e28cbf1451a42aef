import { once } from 'node:events'
import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { Worker } from 'node:worker_threads'
import type Sqlite from 'better-sqlite3'
import { isBundle } from '../../../bundle.ts'

/** Moving this much into the database file is worth the two syncs that it takes. */
const checkpointBytes = 16 * 1024 * 1024
/** To move less takes as long as a few commits, and no thread is started for that. */
const littleBytes = 1024 * 1024
/** At this length the next transaction waits, so that the log ends there and starts over. */
export const maxLogBytes = 64 * 1024 * 1024

const program = new URL(isBundle ? './checkpoint-thread.mjs' : './checkpoint-thread.ts', import.meta.url)

/** SQLite's work on its log, which takes the time of a disk, done without holding the event loop. */
export interface WriteAheadLog {
  /** To be awaited after each transaction: begins a checkpoint if one is due, and waits for it if the log is too long. */
  checkpoint(): Promise<void>
  /** Moves what is committed now, unless that is little. */
  move(): Promise<void>
  /** Syncs a large transaction's writes so far to disk, so that its commit, which holds the loop, has less to do. */
  flush(): Promise<void>
  close(): Promise<void>
}

export function openWriteAheadLog(sqlite: Sqlite.Database, path: string): WriteAheadLog {
  const pageBytes = sqlite.pragma('page_size', { simple: true }) as number
  // When the log is this long, checkpoints have been failing in the thread for a while.
  sqlite.pragma(`wal_autocheckpoint = ${(4 * maxLogBytes) / pageBytes}`)
  // As an array: of a pragma's row, the driver would compile the function that makes the object each time.
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

  /** Moves what is committed now, if the disk allows: what it did not move is due again at the next transaction. */
  async function run(): Promise<void> {
    // The look at the log that follows an answer may come after the close, and nobody would end its thread.
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
      // The one that is running does not move what was committed after it had begun.
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
      // Before a second close, the number may have become another file's.
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
  // An error ends it, too.
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
