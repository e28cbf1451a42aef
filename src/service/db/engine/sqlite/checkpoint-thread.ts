/** Moves committed data from SQLite's log into the database file, while the main thread serves requests. */
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
    // The disk is full or fails. Writes report that.
  }
  parentPort?.postMessage('done')
})
