import { sql } from 'kysely'
import type { Database, Trx } from '../db/engine/database.ts'
import { type Placeholders, query } from '../db/engine/query.ts'
import { lockUser, saveCounters } from '../db/tables/users.ts'
import { eraseVersions, oldestVersions, subtract } from '../db/tables/versions.ts'
import { adoptTombstones } from './tombstones.ts'

const dayMs = 86_400_000
/** Looking through all records of those who have written since takes long, and finds something only after an upgrade. */
const checkMs = 7 * dayMs
/** Users of a query, and versions of a transaction: some milliseconds each. */
const pageUsers = 500
const batchRows = 500

export interface VersionSweepParts {
  config: { keepVersionsDays: number }
  database: Pick<Database, 'db' | 'bulk' | 'write' | 'emptyLog'>
  clock: () => number
}

export const versionSweeps = {
  /** Kept for as long as is configured. */
  versions: sweepVersions,
  /** What was erased is not in the database's log either. */
  log: async ({ database }: VersionSweepParts): Promise<number> => {
    await database.emptyLog()
    return 0
  },
}

async function sweepVersions(parts: VersionSweepParts, stop: AbortSignal): Promise<number> {
  const { config, database, clock } = parts
  const now = clock()
  const end = now - config.keepVersionsDays * dayMs
  let total = 0
  for (let after: string | undefined = ''; after !== undefined; ) {
    const users: Due[] = await page.all(database.db, { after, end, checked: now - checkMs, users: pageUsers })
    for (const { id, due, unchecked } of users) {
      if (stop.aborted) return total
      if (unchecked) await adoptTombstones(database, id, now)
      for (let erased = due || unchecked ? batchRows : 0; erased >= batchRows && !stop.aborted; total += erased)
        erased = await database.write((trx) => sweepUser(trx, id, end))
    }
    after = users.at(-1)?.id
  }
  return total
}

async function sweepUser(trx: Trx, id: string, end: number): Promise<number> {
  const user = await lockUser(trx, id)
  const seqs = (await oldestVersions(trx, id, end, batchRows)).map(({ seq }) => seq)
  if (seqs.length > 0) await saveCounters(trx, subtract(user, await eraseVersions(trx, id, seqs)))
  return seqs.length
}

interface Page {
  after: string
  end: number
  checked: number
  users: number
}

interface Due {
  id: string
  due: boolean | number
  unchecked: boolean | number
}

const page = query(
  (_, { after, end, checked, users }: Placeholders<Page>) => sql<Due>`
    select id, exists (select 1 from versions where versions.user_id = users.id and seq < ${end}) as due,
      trash_checked_at < ${checked} and last_stamp > trash_checked_at as unchecked
    from users where id > ${after} order by id limit ${users}`,
)
