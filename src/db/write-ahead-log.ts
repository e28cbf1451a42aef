import { closeSync, fdatasync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import type Sqlite from 'better-sqlite3'
import type { DatabaseThreads } from './database-thread.ts'
import { maxLogBytes } from './sqlite-connection.ts'

/** Moving this much into the database file is worth the two syncs that it takes. */
const checkpointBytes = 16 * 1024 * 1024

/** What SQLite does with its log in the time of a disk, done without holding the event loop. */
export interface WriteAheadLog {
  /** To be awaited before each transaction: begins a checkpoint if one is due, and waits for it if the log is too long. */
  checkpoint(): Promise<void>
  /** Moves what is committed now. */
  move(): Promise<void>
  /** What a large transaction has already written goes to disk, so that its commit, which holds the loop, has less to do. */
  flush(): Promise<void>
  close(): Promise<void>
}

export function openWriteAheadLog(sqlite: Sqlite.Database, path: string, threads: DatabaseThreads): WriteAheadLog {
  const pageBytes = sqlite.pragma('page_size', { simple: true }) as number
  const readLength = sqlite.prepare<[], { log: number; checkpointed: number }>('pragma wal_checkpoint(noop)')
  let running: Promise<void> | undefined
  let file: number | undefined

  function length(): { bytes: number; due: number } {
    const { log, checkpointed } = readLength.get() as { log: number; checkpointed: number }
    return { bytes: log * pageBytes, due: (log - checkpointed) * pageBytes }
  }

  /** Moves what is committed now, if the disk allows: what it did not move is due again at the next transaction. */
  async function run(): Promise<void> {
    try {
      await threads.current().run({ sql: 'pragma wal_checkpoint(passive)', parameters: [] })
    } catch {
      // The disk is full, or fails: writes meet the same, and tell.
    }
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
      running ??= run()
      await running
    },
    async flush() {
      file ??= openSync(`${path}-wal`, 'r')
      await promisify(fdatasync)(file)
    },
    async close() {
      await running
      if (file !== undefined) closeSync(file)
    },
  }
}
