import { sql } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import { endLogins } from './logins.ts'
import { lockLogins } from './sessions.ts'

const usersAtOnce = 1000

export interface AccountSummary {
  id: string
  email: string
  stored_bytes: number
  stored_records: number
  disabled_at: number | null
  /** Unix ms: the hour of the last request, or the last pull or push; 0 if there was none. */
  last_seen: number
}

/** All users but deleted ones, by id. */
export async function* listAccounts(db: Db): AsyncGenerator<AccountSummary> {
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: AccountSummary[] = await accountsAfter(db, after)
    yield* page
    after = page.at(-1)?.id
  }
}

async function accountsAfter(db: Db, after: string): Promise<AccountSummary[]> {
  const { rows } = await sql<AccountSummary & Record<'last_used' | 'last_sync', number>>`
    select id, email, stored_bytes, stored_records, disabled_at,
      coalesce((select max(coalesce(last_used_at, created_at)) from logins where logins.user_id = users.id), 0) as last_used,
      coalesce((select max(last_sync) from devices where devices.user_id = users.id), 0) as last_sync
    from users where id > ${after} and not exists (select 1 from deletions where deletions.user_id = users.id)
    order by id limit ${usersAtOnce}`.execute(db)
  return rows.map(({ last_used, last_sync, ...account }) => ({ ...account, last_seen: Math.max(last_used, last_sync) }))
}

export async function isAccount(db: Db, id: string): Promise<boolean> {
  return (await db.selectFrom('users').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
}

/** Ends all logins of the user, who cannot sign in again until `disabled_at` is null. */
export async function disableAccount(trx: Trx, id: string, now: number): Promise<void> {
  await trx.updateTable('users').set({ disabled_at: now }).where('id', '=', id).execute()
  const logins = await lockLogins(trx, id)
  await endLogins(trx, id, [...logins.keys()])
}

export async function enableAccount(trx: Trx, id: string): Promise<void> {
  await trx.updateTable('users').set({ disabled_at: null }).where('id', '=', id).execute()
}

export async function isDisabled(trx: Trx, id: string): Promise<boolean> {
  const { disabled_at } = await trx
    .selectFrom('users')
    .select('disabled_at')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return disabled_at !== null
}
