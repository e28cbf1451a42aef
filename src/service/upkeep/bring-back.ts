import { sql } from 'kysely'
import { dayMs } from '../../protocol/order.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import {
  beginDeletion,
  deleteRows,
  deleteUser,
  findDeletion,
  findPerson,
  type Person,
  undoDeletion,
} from '../db/tables/deletions.ts'
import { beginOwnEpoch } from '../db/tables/epoch.ts'
import { addIdentity, findAccount, findUserOf, type IdentityKey } from '../db/tables/identities.ts'
import { lockUser } from '../db/tables/users.ts'
import { commandLine } from '../terminal/command.ts'
import type { Report } from '../terminal/progress.ts'
import { lingerMs } from './erasure.ts'
import { insertRows, listTables, type Row } from './move/rows.ts'
import { pagesOfUser, tablesOfUser } from './rows-of-user.ts'

/** Undoes a deletion. Deletes an empty account that the person has created since. */
export async function undelete(trx: Trx, userId: string, now: number): Promise<void> {
  const person = await undoDeletion(trx, userId)
  if (!person)
    throw new Error(
      `${userId} cannot be brought back: ${(await findDeletion(trx, userId)) ? 'it is being erased' : 'it is not deleted'}`,
    )
  await giveBack(trx, userId, person, now)
}

/** Restores the person's identities. Throws if they have stored something in another account since. */
async function giveBack(trx: Trx, userId: string, { identities }: Person, now: number): Promise<void> {
  for (const identity of identities) {
    await deleteEmpty(trx, identity, now)
    await addIdentity(trx, identity, userId)
  }
}

async function deleteEmpty(trx: Trx, identity: IdentityKey, now: number): Promise<void> {
  const holder = await findUserOf(trx, identity)
  if (holder === undefined) return
  // Blocks the account's writes from here on.
  await lockUser(trx, holder)
  const account = await findAccount(trx, holder)
  if ((account?.stored ?? 0) > 0)
    throw new Error(
      `the same person has made another account, ${holder}, and stored something there: delete that one first`,
    )
  await beginDeletion(trx, holder, now)
}

/** Left out: `undelete` adds identities, sessions and pairings have ended, and a backup may have no export files. */
const leftOut = ['identities', 'logins', 'tokens', 'exports', 'pairings']
/** The service erases the remains of an interrupted call after this time. */
const unfinishedMs = dayMs

type Parts = Pick<Database, 'db' | 'write' | 'isServer'>

/**
 * Restores a deleted account from another database. It counts as deleted until it is complete, so that nobody sees a
 * part of it, and so that the service erases the remains of an interrupted call.
 */
export async function bringBack(from: Parts, to: Parts, userId: string, report: Report): Promise<{ records: number }> {
  const user = await from.db.selectFrom('users').selectAll().where('id', '=', userId).executeTakeFirst()
  const person = await findPerson(from.db, userId)
  if (!user || !person || (await findDeletion(from.db, userId))) throw new Error(`the backup has no user ${userId}`)
  const now = Date.now()
  await makeRoomFor(to, userId, now)
  await to.write(async (trx) => {
    await trx.insertInto('users').values(user).execute()
    await beginOwnEpoch(trx, userId, now)
    await beginDeletion(trx, userId, now)
    const set = { erase_at: now + unfinishedMs }
    await trx.updateTable('deletions').set(set).where('user_id', '=', userId).execute()
  })
  let records = 0
  for (const table of await listTables(to.db)) {
    if (!(table.name in tablesOfUser) || leftOut.includes(table.name)) continue
    const selected = sql.join(table.columns.map((column) => sql.ref(column)))
    for await (const rows of pagesOfUser<Row>(from.db, table.name, userId, selected)) {
      if (rows.length > 0) await to.write((trx) => insertRows({ trx, isServer: to.isServer }, table, rows), userId)
      if (table.name === 'records') records += rows.length
      report(`bringing back ${table.name}`, records)
    }
  }
  await to.write(async (trx) => {
    await trx
      .updateTable('deletions')
      .set({ person: JSON.stringify(person) })
      .where('user_id', '=', userId)
      .execute()
    await trx.updateTable('users').set({ export_key_sealed: user.export_key_sealed }).where('id', '=', userId).execute()
    await undelete(trx, userId, now)
  }, userId)
  return { records }
}

/** Throws if the account exists, can be undeleted, or is being erased. Removes the remains of an interrupted call. */
async function makeRoomFor({ db, write }: Parts, userId: string, now: number): Promise<void> {
  const deletion = await findDeletion(db, userId)
  if (!deletion) {
    if (await findAccount(db, userId))
      throw new Error(`${userId} is there: only an account that is gone can be brought back`)
    return
  }
  if (deletion.person !== null)
    throw new Error(
      `${userId} was deleted, and ${commandLine('admin', `undelete ${userId}`)} still brings it back, newer than the backup`,
    )
  if (deletion.erase_at <= now) {
    const from = new Date(Math.max(deletion.deleted_at + lingerMs, deletion.erase_at)).toISOString()
    throw new Error(
      `${userId} is being erased, and the first hourly sweep after ${from} ends that: run this again then. A restart of the service after that time sweeps at once`,
    )
  }
  await deleteRows({ write }, userId, new AbortController().signal)
  await write((trx) => deleteUser(trx, userId), userId)
}
