import type { FastifyBaseLogger } from 'fastify'
import { v7 as uuidv7 } from 'uuid'
import { claimedKeyId } from '../../protocol/key-id.ts'
import { dayMs } from '../../protocol/order.ts'
import { requireLogin } from '../auth/sessions.ts'
import { ServiceError } from '../contract/errors.ts'
import { faultFinderOf } from '../contract/validation.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import { findExport } from '../db/tables/exports.ts'
import {
  addKeyring,
  addKeyringVersion,
  deleteKeyringVersions,
  findKeyring,
  findKeyringVersion,
  type KeyringRow,
  type KeyringVersionRow,
  listKeyringVersions,
  lockKeyring,
  markRestored,
  replaceKeyring,
} from '../db/tables/keyrings.ts'
import type { Session } from '../db/tables/tokens.ts'
import { findExportKey, lockUser, saveExportKey } from '../db/tables/users.ts'
import { keyOfFile, obtainExportKey } from '../exports/key.ts'
import { openExportKey, sealExportKey } from '../seal/export-key.ts'
import type { Binding, Seal } from '../seal/seal.ts'
import { done, type Operations } from './operation.ts'

interface Parts {
  config: { keepVersionsDays: number }
  database: Pick<Database, 'db' | 'write'>
  seal: Seal
  clock: () => number
  clockGuard: { behindMs(at: number): number }
}

type Ids =
  | 'getExportKey'
  | 'setExportKey'
  | 'getKeyring'
  | 'setKeyring'
  | 'listKeyringVersions'
  | 'restoreKeyring'
  | 'eraseKeyringVersions'

export const keyOperations: Operations<Ids, Parts> = {
  async getExportKey({ session, query, log }, { database, clock, seal }) {
    const { userId } = session
    const made = query.export === undefined ? undefined : await findExport(database.db, userId, query.export, clock())
    if (query.export !== undefined && !made) throw new ServiceError('ExportNotFound')
    const key = made ? keyOfFile({ seal, log }, made) : await keyOfUser({ database, seal, log }, session)
    return { status: 200, body: { key: Buffer.from(key).toString('base64') } }
  },

  async setExportKey({ session: { userId, loginId }, body }, { database, seal, clock }) {
    const sealed = sealExportKey(seal, userId, userId, Buffer.from(body.key, 'base64'))
    await database.write(async (trx) => {
      // As in a deletion, the user's lock comes before the login's: no deadlock.
      await lockUser(trx, userId)
      await requireLogin(trx, { userId, loginId })
      await saveExportKey(trx, userId, sealed, clock())
    }, userId)
    return { status: 200, body: done }
  },

  async getKeyring({ session }, { database }) {
    const stored = await findKeyring(database.db, session.userId)
    if (!stored) throw new ServiceError('KeyringNotFound')
    return { status: 200, body: contentOf(stored) }
  },

  async setKeyring({ session: { userId, loginId }, body: { keyring, revision } }, parts) {
    if (!isKeyring(keyring)) throw new ServiceError('InvalidRequestBody')
    const row = { user_id: userId, keyring, revision }
    const isSaved = await parts.database.write(async (trx) => {
      await requireLogin(trx, { userId, loginId })
      if (revision === 1) return addKeyring(trx, row)
      const stored = await lockKeyring(trx, userId)
      if (stored?.revision !== revision - 1) return false
      await replace(parts, trx, stored, row)
      return true
    }, userId)
    if (!isSaved) throw new ServiceError('KeyringChanged')
    return { status: 200, body: contentOf(row) }
  },

  async listKeyringVersions({ session, log }, parts) {
    const kept = await listKeyringVersions(parts.database.db, session.userId, endOf(parts))
    const versions = kept.flatMap((version) => {
      const { id, revision, replaced_at } = version
      const keyring = contentIn(parts, version)
      // The other keyrings can still be restored.
      if (keyring === undefined) log.error({ id }, unopenedKeyring)
      if (keyring === undefined) return []
      const key_id = claimedKeyId(keyring)
      return { id, revision, ...(key_id && { key_id }), replaced_at, erased_at: replaced_at + keptMs(parts) }
    })
    return { status: 200, body: { versions } }
  },

  async restoreKeyring({ session: { userId, loginId }, params: { id }, log }, parts) {
    const restored = await parts.database.write(async (trx) => {
      await requireLogin(trx, { userId, loginId })
      const stored = await lockKeyring(trx, userId)
      const version = stored && (await findKeyringVersion(trx, userId, id, endOf(parts)))
      if (!version) throw new ServiceError('KeyringNotFound')
      if (version.revision === stored.revision) return stored
      const keyring = contentIn(parts, version)
      if (keyring === undefined) {
        log.error({ id }, unopenedKeyring)
        throw new ServiceError('KeyringNotFound')
      }
      const row = { user_id: userId, keyring, revision: stored.revision + 1 }
      await markRestored(trx, version, { revision: row.revision, replaced_at: parts.clock() })
      await replace(parts, trx, stored, row)
      return row
    }, userId)
    return { status: 200, body: contentOf(restored) }
  },

  async eraseKeyringVersions({ session: { userId, loginId } }, { database }) {
    await database.write(async (trx) => {
      await requireLogin(trx, { userId, loginId })
      await deleteKeyringVersions(trx, userId)
    }, userId)
    return { status: 200, body: done }
  },
}

async function keyOfUser(
  { database, seal, log }: Pick<Parts, 'database' | 'seal'> & { log: FastifyBaseLogger },
  { userId, loginId }: Session,
): Promise<Uint8Array> {
  const stored = openExportKey(seal, userId, userId, (await findExportKey(database.db, userId)).sealed)
  if (stored) return stored
  return database.write(async (trx) => {
    await lockUser(trx, userId)
    await requireLogin(trx, { userId, loginId })
    return obtainExportKey({ seal, log }, trx, userId)
  }, userId)
}

/** True if the text is a keyring. With another text, the owner would lose the vault once no device has the keys. */
function isKeyring(text: string): boolean {
  let content: unknown
  try {
    content = JSON.parse(text)
  } catch {
    return false
  }
  return findKeyringFault(content) === undefined
}

const findKeyringFault = faultFinderOf('KeyringContent')

function contentOf({ keyring, revision }: KeyringRow) {
  return { keyring, revision }
}

/** Replaces the keyring. The last 20 (`quotas`) are kept for as long as versions of bookmarks are. */
async function replace(parts: Parts, trx: Trx, stored: KeyringRow, next: KeyringRow): Promise<void> {
  await replaceKeyring(trx, next)
  if (keptMs(parts) === 0) return
  const { user_id, keyring, revision } = stored
  const id = uuidv7()
  const keyring_sealed = parts.seal.seal(Buffer.from(keyring), bindingOf(user_id, id))
  const now = parts.clock()
  const replaced_at = now + parts.clockGuard.behindMs(now)
  await addKeyringVersion(trx, { id, user_id, revision, keyring_sealed, replaced_at })
}

const unopenedKeyring = 'an earlier keyring cannot be opened with SECRET_KEY'

/** Undefined if the keyring was sealed with a key that is no longer listed, or for another user or row. */
function contentIn({ seal }: Parts, { id, user_id, keyring_sealed }: KeyringVersionRow): string | undefined {
  const opened = seal.open(keyring_sealed, bindingOf(user_id, id))
  return opened ? Buffer.from(opened).toString() : undefined
}

function bindingOf(userId: string, rowId: string): Binding {
  return { purpose: 'keyring-version', userId, rowId }
}

/** Keyrings that were replaced before this time are no longer kept. */
function endOf(parts: Parts): number {
  return parts.clock() - keptMs(parts)
}

function keptMs({ config }: Parts): number {
  return config.keepVersionsDays * dayMs
}
