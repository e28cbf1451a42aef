import { createHash } from 'node:crypto'
import { parse, v7 as uuidv7 } from 'uuid'
import { quotas } from '../../generated/limits.ts'
import { hexValue, toDigest } from '../../src/protocol/digest.ts'
import type { Data } from '../data.ts'

export interface Person {
  userId: string
  loginId: string
  session: string
}

export interface Sizes {
  /** Bookmarks that are not deleted, each from its own device, and with an unsettled conflict if it has versions. */
  records: number
  /** Kept earlier versions of each of these bookmarks. */
  versions: number
  /** Deleted bookmarks, which have one earlier version each. */
  trash: number
  /** The number of logins, and of devices. */
  devices: number
}

/** Two accounts whose storage is full (`usedBytes`): one with the most versions per record, one with many records. */
export const atLimits = {
  versions: { records: 10_000, versions: quotas.versionsOfRecord, trash: 10_000, devices: quotas.devices },
  records: { records: 600_000, versions: 0, trash: 0, devices: quotas.devices },
} satisfies Record<string, Sizes>

export interface FilledAccount extends Sizes, Person {
  /** The sequence number of the first change. Round 0 creates all `records`, and each later round changes them all. */
  first: number
}

const hash = 'a'.repeat(64)
const ciphertext = 'x'
const hourMs = 3_600_000
/** How many logins have tokens that calls can use. Those of the others only fill the table: no cookie matches them. */
const tokensInUse = 100

/** The sequence number of the change that wrote this record in this round. */
export function sequenceOf({ first, records }: FilledAccount, round: number, record: number): number {
  return first + round * records + record
}

/** The bytes that the quota counts. The bench sets MAX_USER_BYTES to them, so that the account is full. */
export function usedBytes({ records, versions, trash }: Sizes): number {
  const ciphertexts = (versions + 1) * records + trash
  return ciphertexts * ciphertext.length + quotas.rowBytes * (ciphertexts + trash)
}

/**
 * Fills an empty account with the rows that its pushes would leave. By id, `b0` is the first record, `e0-0` its first
 * version, `t0` the first record in the trash. The newest earlier version of each record is from the device `tablet`,
 * and was overwritten by a device that had not seen it.
 */
export async function fillAccount(data: Data, person: Person, sizes: Sizes): Promise<FilledAccount> {
  const { records, versions, trash, devices } = sizes
  const now = Date.now()
  const account = { ...sizes, ...person, first: now - hourMs - (versions + 3) * Math.max(records, trash) }
  const { userId: user, first } = account
  const series = (count: number) => `with recursive
    numbers (n) as (select 0 where ${count} > 0 union all select n + 1 from numbers where n < ${count - 1}),
    rounds (r) as (select 0 union all select r + 1 from rounds where r < ${versions})`
  const time = (round: string | number) => `(${first} + cast(${round} as bigint) * ${records})`
  const sequence = (round: string | number) => `(${time(round)} + n)`
  const event = (round: string | number) => `'e' || ${round} || '-' || n`
  const device = `'device-' || n`
  const isLost = `r = ${versions - 1}`
  const [created, deleted] = [versions + 1, versions + 2]

  await data.run(`insert into ciphertexts (user_id, sequence, encrypted_data)
    ${series(records)} select '${user}', ${sequence('r')}, '${ciphertext}' from rounds cross join numbers where r < ${versions}`)
  await data.run(`insert into versions (${versionColumns})
    ${series(records)} select '${user}', ${time('(r + 1)')}, ${time('r')}, ${time('(r + 1)')}, ${sequence('(r + 1)')}, 'bookmark', 'b' || n, ${event('r')},
      case when r = 0 then 'create' else 'update' end, ${sequence('r')}, case when ${isLost} then 'tablet' else ${device} end,
      '${hash}', ${sequence('r')}, case when ${isLost} then 'overwritten' else 'superseded' end,
      ${event('(r + 1)')}, null, 0, ${ciphertext.length}, ${sequence('r')}
    from rounds cross join numbers where r < ${versions}`)
  const overwrote =
    versions > 0
      ? `'last_write_wins', '[{"device_id":"tablet","timestamp":' || ${sequence(versions - 1)} || '}]'`
      : 'null, null'
  await data.run(`insert into records (${recordColumns})
    ${series(records)} select '${user}', ${time(versions)}, ${time(0)}, 'bookmark', 'b' || n, '${hash}', ${sequence(0)}, ${sequence(versions)}, null,
      ${sequence(versions)}, ${event(versions)}, '${versions > 0 ? 'update' : 'create'}', ${sequence(versions)}, ${device}, ${overwrote},
      ${ciphertext.length}, ${sequence(versions)}, ${sequence(0)}, ${versions}, '${ciphertext}' from numbers`)

  await data.run(`insert into ciphertexts (user_id, sequence, encrypted_data)
    ${series(trash)} select '${user}', ${sequence(created)}, '${ciphertext}' from numbers`)
  await data.run(`insert into versions (${versionColumns})
    ${series(trash)} select '${user}', ${time(deleted)}, ${time(created)}, ${time(deleted)}, ${sequence(deleted)}, 'bookmark', 't' || n, ${event(created)}, 'create', ${sequence(created)},
      ${device}, '${hash}', ${sequence(created)}, 'superseded', ${event(deleted)}, null, 1,
      ${ciphertext.length}, ${sequence(created)} from numbers`)
  await data.run(`insert into records (${recordColumns})
    ${series(trash)} select '${user}', ${time(deleted)}, ${time(created)}, 'bookmark', 't' || n, '${hash}', ${sequence(created)}, ${sequence(deleted)}, ${sequence(deleted)},
      ${sequence(deleted)}, ${event(deleted)}, 'delete', ${sequence(deleted)}, ${device}, null, null, ${ciphertext.length},
      ${sequence(created)}, ${sequence(created)}, 1, null from numbers`)

  const last = sequenceOf(account, trash > 0 ? deleted : versions, (trash || records) - 1)
  await data.run(`update users set last_sequence = ${last}, live_bookmarks = ${records}, stored_records = ${records + trash},
    stored_versions = ${versions * records + trash}, stored_bytes = ${((versions + 1) * records + trash) * ciphertext.length}, version_bytes = ${(versions * records + trash) * ciphertext.length},
    digest = '${toDigest(BigInt(records) * (hexValue(hash) ?? 0n))}' where id = '${user}'`)
  await data.run(`insert into devices (user_id, device_id, cursor, last_sync)
    ${series(devices)} select '${user}', ${device}, 0, ${now} from numbers`)
  // The person already has one login.
  const logins = devices - 1
  if (logins === 0) return account
  // The ids are UUIDs that differ in their last digits.
  const login = `'${uuidv7().slice(0, 24)}' || (100000000000 + n)`
  await data.run(`insert into logins (id, user_id, checked_at, created_at, last_used_at, user_agent)
    ${series(logins)} select ${login}, '${user}', ${now}, ${now}, ${now}, 'hostile' from numbers`)
  for (const kind of ['session', 'refresh'] as const) {
    const others = `'${kind}', '${user}', ${login}, ${now}, ${now + 24 * hourMs}`
    await data.run(`insert into tokens (${tokenColumns})
      ${series(logins)} select '${user} ${kind} ' || n, ${others} from numbers where n >= ${tokensInUse}`)
    const used = Array.from(
      { length: Math.min(logins, tokensInUse) },
      (_, n) => `('${hashOf(account, kind, n)}', ${n})`,
    )
    await data.run(`insert into tokens (${tokenColumns})
      with used (hash, n) as (values ${used}) select hash, ${others} from used`)
  }
  return account
}

const versionColumns = `user_id, stored_at, began_at, ended_at, sequence, entity_type, entity_id, version_id, operation, timestamp, device_id,
  data_hash, began, reason, replaced_by, settled_at, was_deleted, bytes, data_sequence`
const recordColumns = `user_id, stored_at, first_stored_at, entity_type, entity_id, data_hash, created_at, updated_at, deleted_at, sequence, event_id,
  operation, timestamp, device_id, resolution_strategy, overwritten, bytes, data_sequence, first_sequence, versions, encrypted_data`
const tokenColumns = 'hash, kind, user_id, login_id, issued_at, expires_at'

function hashOf(account: FilledAccount, kind: 'session' | 'refresh', number: number): string {
  return createHash('sha256')
    .update(tokenOf(account, kind, number))
    .digest('base64url')
}

/** A token of the login with this number. It begins with the user's id, as in src/service/auth/sessions.ts. */
export function tokenOf({ userId }: FilledAccount, kind: 'session' | 'refresh', number: number): string {
  const secret = createHash('sha256').update(`${userId} ${kind} ${number}`).digest().subarray(0, 16)
  return Buffer.concat([parse(userId), secret]).toString('base64url')
}
