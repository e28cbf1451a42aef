import { sql } from 'kysely'
import { dayMs } from '../../protocol/order.ts'
import type { Db } from '../db/engine/database.ts'
import { keptFrom } from '../db/tables/versions.ts'
import type { SmallerLimit } from '../operating/limits-guard.ts'
import { rowBytes } from '../sync/usage.ts'

/** Describes what a smaller limit would erase for good. Takes long: reads all versions (for the days) or all users. */
export async function describeBeyond(db: Db, { variable, configured }: SmallerLimit, now: number): Promise<string> {
  if (variable === 'KEEP_VERSIONS_DAYS') {
    const { versions, keyrings, users } = await beyondDays(db, now - configured * dayMs)
    return `${versions} versions and deleted bookmarks and ${keyrings} replaced keyrings of ${users} users`
  }
  const { bytes, users } = await beyondBytes(db, configured)
  return `${bytes} bytes of versions and deleted bookmarks of ${users} users, each with the user's next write`
}

async function beyondDays(db: Db, end: number): Promise<Record<'versions' | 'keyrings' | 'users', number>> {
  const { rows } = await sql<Record<'versions' | 'keyrings' | 'users', unknown>>`
    select (select count(*) from versions where ${keptFrom} < ${end}) as versions,
      (select count(*) from keyring_versions where replaced_at <= ${end}) as keyrings,
      (select count(*) from (
        select user_id from versions where ${keptFrom} < ${end}
        union select user_id from keyring_versions where replaced_at <= ${end}
      ) as beyond) as users`.execute(db)
  return { versions: Number(rows[0]?.versions), keyrings: Number(rows[0]?.keyrings), users: Number(rows[0]?.users) }
}

/** Counts only what can be erased. Excludes users with their own quota. */
async function beyondBytes(db: Db, maxBytes: number): Promise<Record<'bytes' | 'users', number>> {
  const size = sql.lit(rowBytes)
  const over = sql`stored_bytes + ${size} * (stored_records + stored_versions) - ${maxBytes}`
  const erasable = sql`version_bytes + ${size} * stored_versions`
  const { rows } = await sql<Record<'bytes' | 'users', unknown>>`
    select count(*) as users, coalesce(sum(case when over < erasable then over else erasable end), 0) as bytes
    from (select ${over} as over, ${erasable} as erasable from users where max_bytes is null) as counted
    where over > 0 and erasable > 0`.execute(db)
  return { bytes: Number(rows[0]?.bytes), users: Number(rows[0]?.users) }
}
