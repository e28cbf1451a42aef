import { Keyring } from '../../../generated/keyring-limits.ts'
import { EncryptedData, ImportRequest, PullRequest, PushRequest, quotas } from '../../../generated/limits.ts'
import { type CookieConfig, clearedCookies } from '../auth/cookies.ts'
import { deleteAccount } from '../auth/delete-account.ts'
import type { SignOutParts } from '../auth/sign-out.ts'
import { ServiceError } from '../contract/errors.ts'
import type { Schemas } from '../contract/schemas.ts'
import type { Db } from '../db/engine/database.ts'
import { countDevices } from '../db/tables/devices.ts'
import { listExports } from '../db/tables/exports.ts'
import { findCounters, findProfile } from '../db/tables/users.ts'
import { erasableBytes, maxBytesOf, usedBytes } from '../sync/usage.ts'
import type { Erasure } from '../upkeep/erasure.ts'
import { done, type Operations } from './operation.ts'

interface ConfiguredLimits {
  maxUserBytes: number
  maxUserRecords: number
  maxUserExportBytes: number
  keepVersionsDays: number
  rateLimitPerMinute: number
}

interface Parts extends SignOutParts {
  config: ConfiguredLimits & CookieConfig
  erasure: Pick<Erasure, 'begin'>
}

export const accountOperations: Operations<'getAccount' | 'deleteAccount', Parts> = {
  async getAccount({ session: { userId } }, { config, database: { db }, clock }) {
    // Counts first: on SQLite, the queries below wait for an open transaction, and all waiters would count in one turn.
    const devices = await countDevices(db, userId)
    const user = await findSessionUser(db, userId)
    if (!user) throw new ServiceError('InvalidSession')
    const counters = await findCounters(db, userId)
    const exports = await listExports(db, userId, clock())
    const usage = {
      bytes: usedBytes(counters),
      records: counters.stored_records,
      version_bytes: erasableBytes(counters),
      export_bytes: exports.reduce((sum, { size_bytes }) => sum + (size_bytes ?? 0), 0),
      devices,
    }
    return {
      status: 200,
      body: { user, usage, limits: { ...limitsOf(config), stored_bytes: maxBytesOf(config, counters) } },
    }
  },

  async deleteAccount({ session, log }, parts) {
    await deleteAccount(parts, session, log)
    parts.erasure.begin(session.userId)
    return { status: 200, body: done, cookies: clearedCookies(parts.config) }
  },
}

export async function findSessionUser(db: Db, userId: string): Promise<Schemas['SessionUser'] | undefined> {
  const profile = await findProfile(db, userId)
  if (!profile) return undefined
  const { email, name, avatar_url, email_verified } = profile
  return { user_id: userId, email, name, avatar_url, email_verified: email_verified === 1 }
}

function limitsOf(config: ConfiguredLimits): Omit<Schemas['AccountLimits'], 'stored_bytes'> {
  return {
    stored_records: config.maxUserRecords,
    version_days: config.keepVersionsDays,
    versions_of_record: quotas.versionsOfRecord,
    export_bytes: config.maxUserExportBytes,
    requests_per_minute: config.rateLimitPerMinute,
    // Operators cannot change these.
    exports_kept: quotas.exportsKept,
    exports_unfinished: quotas.exportsUnfinished,
    devices: quotas.devices,
    sessions: quotas.logins,
    sockets_per_instance: quotas.socketsPerInstance,
    pull_changes: PullRequest.limit.maximum,
    push_changes: PushRequest.changes.maxItems,
    import_bookmarks: ImportRequest.bookmarks.maxItems,
    batch_body_bytes: quotas.batchBodyBytes,
    body_bytes: quotas.bodyBytes,
    encrypted_data_bytes: EncryptedData.maxLength,
    keyring_bytes: Keyring.keyring.maxLength,
  }
}
