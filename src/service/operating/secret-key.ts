import type { FastifyBaseLogger } from 'fastify'
import type { Database } from '../db/engine/database.ts'
import { sampleSeals } from '../db/tables/sealed.ts'
import type { Seal } from '../seal/seal.ts'

interface Parts {
  database: Pick<Database, 'db'>
  seal: Pick<Seal, 'open'>
  log: FastifyBaseLogger
}

/**
 * Logs an error if SECRET_KEY does not open a sample of values. The start goes on: the key may be lost for good.
 *
 * @throws the error of the database if some values could not be read
 */
export async function checkSecretKey({ database, seal, log }: Parts): Promise<void> {
  const { tried, opens, damage } = await sampleSeals(database.db, seal)
  if (opens < tried)
    log.error(
      `SECRET_KEY: of ${tried} sealed values that were tried, ${tried - opens} open under none of its keys. Exports and earlier keyrings of these users are not found, and who is signed in is signed out within a day. Append the key that sealed them (SECRET_KEY=NEW,OLD)`,
    )
  if (damage) throw damage
}
