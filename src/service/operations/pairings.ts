import { requireLogin } from '../auth/sessions.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Database } from '../db/engine/database.ts'
import { erasePairing, extendPairing, findPairing, type PairingRow, savePairing } from '../db/tables/pairings.ts'
import type { Limits } from '../load/rates.ts'
import { done, type Operations } from './operation.ts'

interface Parts {
  database: Pick<Database, 'db' | 'write'>
  clock: () => number
  limits: Pick<Limits, 'countStart'>
}

/** The client package defines the messages of the two devices: `src/client/pair.ts`. */
export const pairingOperations: Operations<'getPairing' | 'sendToPairing' | 'endPairing' | 'reservePairing', Parts> = {
  async getPairing({ session, params }, { database, clock }) {
    const found = await findPairing(database.db, session.userId, params.id, clock())
    if (!found) throw new ServiceError('PairingNotFound')
    return { status: 200, body: contentOf(found) }
  },

  async sendToPairing({ session: { userId, loginId }, params: { id }, body: { step, message } }, { database, clock }) {
    const now = clock()
    const stored = await database.write(async (trx) => {
      await requireLogin(trx, { userId, loginId })
      const isSaved = await savePairing(trx, { user_id: userId, id, step, message }, now)
      const found = await findPairing(trx, userId, id, now)
      if (!found) throw new ServiceError('PairingNotFound')
      // The same message may come twice, if its sender got no response.
      if (!isSaved && (found.step !== step || found.message !== message)) throw new ServiceError('PairingChanged')
      return found
    }, userId)
    return { status: 200, body: contentOf(stored) }
  },

  /** Counts against the address like the start of a sign-in, which follows. */
  async reservePairing({ params: { id }, body: { user_id: userId }, address }, { database, clock, limits }) {
    limits.countStart(address)
    const now = clock()
    const found = await findPairing(database.db, userId, id, now)
    if (found?.step !== 0) throw new ServiceError('PairingNotFound')
    await database.write((trx) => extendPairing(trx, userId, id, now), userId)
    return { status: 200, body: done }
  },

  async endPairing({ session: { userId, loginId }, params: { id } }, { database }) {
    await database.write(async (trx) => {
      await requireLogin(trx, { userId, loginId })
      await erasePairing(trx, userId, id)
    }, userId)
    return { status: 200, body: done }
  },
}

function contentOf({ step, message, expires_at, reserved }: PairingRow) {
  return { step, message, expires_at, reserved: reserved === 1 }
}
