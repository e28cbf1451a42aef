import { quotas } from '../../../generated/limits.ts'
import { dayMs } from '../../protocol/order.ts'
import type { Trx } from '../db/engine/database.ts'
import { pages } from '../db/engine/query.ts'
import type { CommandDatabase } from '../db/for-command.ts'
import {
  beginUndoableDeletion,
  type Deletion,
  findDeletion,
  listDeletions,
  type Person,
} from '../db/tables/deletions.ts'
import { endLogin, listLogins } from '../db/tables/logins.ts'
import {
  type AccountSummary,
  disableAccount,
  enableAccount,
  findAccountSummary,
  findCounters,
  listAccounts,
  setQuota,
} from '../db/tables/users.ts'
import { maxBytesOf, usedBytes } from '../sync/usage.ts'
import { commandLine, UsageError } from '../terminal/command.ts'
import { undelete } from '../upkeep/bring-back.ts'

interface Listing {
  /** The start of an id, or a part of an e-mail address, in upper or lower case. */
  search?: string
  json?: true
}

/** Prints one user per line, then their number and total storage as the quota counts it. As JSON, only the users. */
export async function listUsers(
  { db }: Pick<CommandDatabase, 'db'>,
  { search = '', json }: Listing = {},
): Promise<void> {
  const wanted = search.toLowerCase()
  let [users, bytes] = [0, 0]
  for await (const account of listAccounts(db)) {
    if ('damage' in account) {
      process.exitCode = 1
      console.error(
        `${account.id}  damaged (${account.damage.code}): ${commandLine('admin', 'check')} names the tables`,
      )
      continue
    }
    const { id, email, last_seen, disabled_at, max_bytes: quota, stored_records: records, ...stored } = account
    if (!id.startsWith(wanted) && !email.toLowerCase().includes(wanted)) continue
    users += 1
    const used = usedBytes({ ...stored, stored_records: records })
    bytes += used
    const [seen, disabled] = [timeOf(last_seen), disabled_at !== null]
    if (json) {
      console.log(JSON.stringify({ id, email, bytes: used, records, quota, last_seen: seen, disabled }))
      continue
    }
    // In quotes, because the provider may have sent any text.
    const line = `${id}  ${JSON.stringify(email)}  ${used} bytes, ${records} records, last seen ${seen ?? 'never'}`
    console.log([line, ...(quota === null ? [] : [`quota ${quota}`]), ...(disabled ? ['disabled'] : [])].join(', '))
  }
  if (!json) console.log(`${users} users, ${bytes} bytes`)
}

/** Prints a user's sessions, newest first. */
export async function listSessions(
  { db }: Pick<CommandDatabase, 'db'>,
  userId: string,
  { json }: Pick<Listing, 'json'> = {},
) {
  await requireAccount(db, userId)
  const logins = await listLogins(db, { userId, limit: quotas.logins, now: Date.now() })
  for (const { id, created_at, last_used_at, user_agent } of logins) {
    const [signed_in, last_used] = [timeOf(created_at), timeOf(last_used_at ?? 0)]
    if (json) console.log(JSON.stringify({ id, signed_in, last_used, user_agent }))
    else console.log(`${id}  signed in ${signed_in}, last used ${last_used ?? 'never'}  ${JSON.stringify(user_agent)}`)
  }
}

export async function endSessionOf({ db, write }: CommandDatabase, userId: string, id: string): Promise<void> {
  await requireAccount(db, userId)
  if (!(await write((trx) => endLogin(trx, { userId, loginId: id }), userId)))
    throw new Error(`the user has no session ${id}; ${commandLine('admin', `sessions ${userId}`)} lists all`)
  console.log(`${id}: signed out`)
}

interface NewQuota {
  /** A number or `default`; undefined shows the current quota. */
  bytes: string | undefined
  /** Allows a quota that is less than the usage. */
  yes: boolean
}

/** Shows or sets a quota. If more is used, live data stays, and the next write of ciphertext erases old versions. */
export async function quotaOf(
  { db, write }: CommandDatabase,
  id: string,
  { bytes, yes }: NewQuota,
  maxUserBytes: number,
): Promise<void> {
  await requireAccount(db, id)
  if (bytes !== undefined) {
    const max_bytes = bytes === 'default' ? null : Number(bytes)
    if (max_bytes !== null && !(/^[1-9][0-9]*$/.test(bytes) && Number.isSafeInteger(max_bytes)))
      throw new UsageError(`${bytes} is neither a number of bytes, 1 or more, nor \`default\``)
    const over = usedBytes(await findCounters(db, id)) - maxBytesOf({ maxUserBytes }, { max_bytes })
    if (over > 0 && !yes)
      throw new Error(
        `that is ${over} bytes less than is used: the user's next write would erase as much of what can be restored. --yes sets it anyway`,
      )
    await write((trx) => setQuota(trx, id, max_bytes), id)
  }
  const user = await findCounters(db, id)
  const own = user.max_bytes === null ? 'as MAX_USER_BYTES says' : 'set for this user'
  console.log(`${id}: ${usedBytes(user)} of ${maxBytesOf({ maxUserBytes }, user)} bytes, ${own}`)
}

function timeOf(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString()
}

export const disableUser = forOne((trx, id) => disableAccount(trx, id, Date.now()), 'signed out and disabled')

export const enableUser = forOne(enableAccount, 'can sign in again')

/** How long (ms) an operator can undo a deletion. */
const undoableMs = dayMs

/** Marks the account as deleted, and ends its sessions. The service erases its data and export files a day later. */
export async function removeUser({ db, write }: CommandDatabase, id: string, { yes }: { yes?: true }): Promise<void> {
  const { email, last_seen, ...stored } = await requireAccount(db, id)
  const seen = timeOf(last_seen) ?? 'never'
  const records = `${usedBytes(stored)} bytes, ${stored.stored_records} records`
  console.log(`${id}  ${JSON.stringify(email)}  ${records}, last seen ${seen}`)
  if (!yes) throw new Error('nothing was deleted: --yes deletes this account')
  const now = Date.now()
  await write((trx) => beginUndoableDeletion(trx, id, now, now + undoableMs), id)
  console.log(`deleted; until ${timeOf(now + undoableMs)}, ${commandLine('admin', `undelete ${id}`)} brings it back`)
}

/** Restores an account that an operator has deleted. Without an id, lists those accounts. */
export async function undeleteUser({ db, write }: CommandDatabase, id?: string): Promise<void> {
  if (id === undefined) return listDeleted(db)
  await write((trx) => undelete(trx, id, Date.now()), id)
  console.log(`${id}: restored; the person has to sign in again`)
}

async function listDeleted(db: CommandDatabase['db']): Promise<void> {
  const next = (last?: Deletion) => listDeletions(db, last?.user_id ?? '', 100)
  for await (const page of pages(next))
    for (const { user_id, erase_at, person } of page)
      if (person !== null) {
        const { email }: Person['profile'] = JSON.parse(person).profile
        console.log(`${user_id}  ${JSON.stringify(email)}  can be brought back until ${timeOf(erase_at)}`)
      }
}

function forOne(work: (trx: Trx, id: string) => Promise<unknown>, done: string) {
  return async ({ db, write }: CommandDatabase, id: string): Promise<void> => {
    await requireAccount(db, id)
    await write((trx) => work(trx, id), id)
    console.log(`${id}: ${done}`)
  }
}

export async function requireAccount(db: CommandDatabase['db'], id: string): Promise<AccountSummary> {
  const account = await findAccountSummary(db, id)
  if (account) return account
  const deletion = await findDeletion(db, id)
  if (!deletion) throw new Error(`no user has the id ${id}; ${commandLine('admin', 'users')} lists all`)
  if (deletion.person === null) throw new Error(`${id} was deleted, and is being erased`)
  const back = `until ${timeOf(deletion.erase_at)}, ${commandLine('admin', `undelete ${id}`)} brings it back`
  throw new Error(`${id} was deleted; ${back}`)
}
