import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import { sampleSealed, sealedColumns } from '../db/tables/sealed.ts'
import type { Seal } from '../seal/seal.ts'

interface Parts {
  database: Pick<Database, 'db'>
  seal: Pick<Seal, 'open'>
  log: FastifyBaseLogger
}

/** Says at the start what would otherwise be noticed late. The service runs all the same: the key may be lost for good. */
export async function checkSecretKey({ database, seal, log }: Parts): Promise<void> {
  let [all, unreadable] = [0, 0]
  for (const column of sealedColumns) {
    const values = await sampleSealed(database.db, column)
    all += values.length
    unreadable += values.filter(
      ({ id, userId, sealed }) => !seal.open(sealed, { purpose: column.purpose, userId, rowId: id }),
    ).length
  }
  if (unreadable === 0) return
  log.error(
    `SECRET_KEY: of ${all} sealed values that were tried, ${unreadable} open under none of its keys. Their users' exports fail, and who is signed in is signed out within a day. Append the key that sealed them (SECRET_KEY=NEW,OLD)`,
  )
}
