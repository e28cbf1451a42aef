import type { Beside } from '../db/beside.ts'
import type { Trx } from '../db/engine/database.ts'
import { beginDeletion } from '../db/tables/deletions.ts'
import { disableAccount, enableAccount, isAccount, listAccounts } from '../db/tables/users.ts'
import { usedBytes } from '../sync/usage.ts'
import { callBeside } from '../terminal/command.ts'

/** One user a line, then their number and what they store in all, as the quota counts it. */
export async function listUsers({ db }: Beside): Promise<void> {
  let [users, bytes] = [0, 0]
  for await (const { id, email, last_seen, disabled_at, ...stored } of listAccounts(db)) {
    users += 1
    const used = usedBytes(stored)
    bytes += used
    const seen = last_seen === 0 ? 'never' : new Date(last_seen).toISOString()
    const state = disabled_at === null ? '' : ', disabled'
    // The provider's text may hold anything.
    console.log(
      `${id}  ${JSON.stringify(email)}  ${used} bytes, ${stored.stored_records} records, last seen ${seen}${state}`,
    )
  }
  console.log(`${users} users, ${bytes} bytes`)
}

export const disableUser = forOne((trx, id) => disableAccount(trx, id, Date.now()), 'signed out and disabled')

export const enableUser = forOne(enableAccount, 'can sign in again')

/** The service erases the rest, because it knows the object store and when it is idle. */
export const removeUser = forOne(
  (trx, id) => beginDeletion(trx, id, Date.now()),
  'deleted; the service erases what is stored within the hour, or at its next start',
)

function forOne(work: (trx: Trx, id: string) => Promise<unknown>, done: string) {
  return async ({ db, write }: Beside, id: string): Promise<void> => {
    if (!(await isAccount(db, id)))
      throw new Error(`no user has the id ${id}; ${callBeside('admin', 'users')} lists all`)
    await write((trx) => work(trx, id), id)
    console.log(`${id}: ${done}`)
  }
}
