/** Moves what is committed from the log of a SQLite database into its file. The thread of the requests goes on meanwhile. */
import { parentPort, workerData } from 'node:worker_threads'
import Sqlite from 'better-sqlite3'

const sqlite = new Sqlite(workerData as string, { fileMustExist: true })

parentPort?.on('message', (order: 'checkpoint' | 'close') => {
  if (order === 'close') {
    sqlite.close()
    process.exit()
  }
  try {
    sqlite.pragma('wal_checkpoint(passive)')
  } catch {
    // The disk is full, or fails: writes meet the same, and tell.
  }
  parentPort?.postMessage('done')
})
