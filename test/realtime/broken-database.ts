import Sqlite from 'better-sqlite3'
import type { Database } from '../../src/db/database.ts'

/** Each query outside of a transaction fails as it does on a broken disk, until the returned function is called. */
export function breakDatabase(database: Database): () => void {
  const { db } = database
  database.db = db.withPlugin({
    transformQuery() {
      throw new Sqlite.SqliteError('disk I/O error', 'SQLITE_IOERR')
    },
    transformResult: async ({ result }) => result,
  })
  return () => {
    database.db = db
  }
}
