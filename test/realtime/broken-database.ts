import type { Database } from '../../src/service/db/engine/database.ts'
import { diskError } from '../support/database.ts'

/** Each query outside of a transaction fails as it does on a broken disk, until the returned function is called. */
export function breakDatabase(database: Database): () => void {
  const { db } = database
  database.db = db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult() {
      throw diskError()
    },
  })
  return () => {
    database.db = db
  }
}
