import { demandLogin } from '../auth/sessions.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/engine/database.ts'
import { findExport } from '../db/tables/exports.ts'
import { findKeyring, saveKeyring } from '../db/tables/keyrings.ts'
import { findExportKey, saveExportKey } from '../db/tables/users.ts'
import { openExportKey, sealExportKey } from '../exports/key.ts'
import type { Seal } from '../seal/seal.ts'
import type { Operations } from './operation.ts'

interface Parts {
  database: Pick<Database, 'db' | 'write'>
  seal: Seal
  clock: () => number
}

export const keyOperations: Operations<'getExportKey' | 'setExportKey' | 'getKeyring' | 'setKeyring', Parts> = {
  async getExportKey({ session: { userId }, query }, { database: { db }, clock, seal }) {
    const made = query.export === undefined ? undefined : await findExport(db, userId, query.export, clock())
    if (query.export !== undefined && !made) throw new ServiceError('ExportNotFound')
    const sealed = made?.key_sealed ?? (await findExportKey(db, userId))
    const key = Buffer.from(openExportKey(seal, userId, made?.id ?? userId, sealed)).toString('base64')
    return { status: 200, body: { key } }
  },

  async setExportKey({ session: { userId, loginId }, body }, { database, seal }) {
    const sealed = sealExportKey(seal, userId, userId, Buffer.from(body.key, 'base64'))
    await database.write(async (trx) => {
      await demandLogin(trx, { userId, loginId })
      await saveExportKey(trx, userId, sealed)
    }, userId)
    return { status: 200, body: { success: true } }
  },

  async getKeyring({ session }, { database }) {
    const stored = await findKeyring(database.db, session.userId)
    if (!stored) throw new ServiceError('KeyringNotFound')
    const { keyring, revision } = stored
    return { status: 200, body: { keyring, revision } }
  },

  async setKeyring({ session: { userId, loginId }, body: { keyring, revision } }, { database }) {
    const saved = await database.write(async (trx) => {
      await demandLogin(trx, { userId, loginId })
      return saveKeyring(trx, { user_id: userId, keyring, revision })
    }, userId)
    if (!saved) throw new ServiceError('KeyringChanged')
    return { status: 200, body: { keyring, revision } }
  },
}
