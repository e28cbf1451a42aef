import type { FastifyBaseLogger } from 'fastify'
import { ServiceError } from '../contract/errors.ts'
import type { Trx } from '../db/engine/database.ts'
import type { ExportRow } from '../db/tables/exports.ts'
import { findExportKey, saveExportKey } from '../db/tables/users.ts'
import { generateExportKey, openExportKey, unopened } from '../seal/export-key.ts'
import type { Seal } from '../seal/seal.ts'

interface Parts {
  seal: Seal
  log: Pick<FastifyBaseLogger, 'error'>
}

/**
 * The key for later exports of a locked user. If SECRET_KEY does not open it, it counts as never set: a generated key
 * replaces it, because the secret that opens it may be lost for good.
 */
export async function obtainExportKey({ seal, log }: Parts, trx: Trx, userId: string): Promise<Uint8Array> {
  const stored = openExportKey(seal, userId, userId, (await findExportKey(trx, userId)).sealed)
  if (stored) return stored
  log.error(`${unopened(userId)}: it is replaced`)
  const { key, sealed } = generateExportKey(seal, userId)
  await saveExportKey(trx, userId, sealed, 0)
  return key
}

/** @throws ServiceError ExportNotFound: SECRET_KEY does not open the file's key */
export function keyOfFile({ seal, log }: Parts, { id, user_id, key_sealed }: ExportRow): Uint8Array {
  const key = openExportKey(seal, user_id, id, key_sealed)
  if (key) return key
  log.error(unopened(id))
  throw new ServiceError('ExportNotFound')
}
