import type { FastifyBaseLogger } from 'fastify'
import { sql } from 'kysely'
import { dayMs } from '../../protocol/order.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import { type Placeholders, pages, query } from '../db/engine/query.ts'
import { eraseVersions, subtract, versionsBefore } from '../db/tables/erased-versions.ts'
import { lockUser, saveCounters } from '../db/tables/users.ts'
import { keptFrom } from '../db/tables/versions.ts'
import { UnfinishedSweep } from './unfinished-sweep.ts'

/** Users per query, and (`batchRows`) versions per transaction, so that each takes only some milliseconds. */
const pageUsers = 500
/** A user's rows may be locked or damaged. If this many users fail in a row, the cause is something else. */
const mostInARow = 10
const batchRows = 500

export interface VersionSweepParts {
  config: { keepVersionsDays: number }
  database: Pick<Database, 'db' | 'write' | 'emptyLog'>
  clock: () => number
  log: FastifyBaseLogger
}

export const versionSweeps = {
  /** Versions whose retention (KEEP_VERSIONS_DAYS) is over. */
  versions: sweepVersions,
  /** Not a sweep of rows: removes erased data from the database's write-ahead log. */
  log: async ({ database }: VersionSweepParts): Promise<number> => {
    await database.emptyLog()
    return 0
  },
}

async function sweepVersions(parts: VersionSweepParts, stop: AbortSignal): Promise<number> {
  const { config, database, clock, log } = parts
  const now = clock()
  const end = now - config.keepVersionsDays * dayMs
  let [total, failed, failedInARow] = [0, 0, 0]
  const at = { end, now, users: pageUsers }
  for await (const users of pages<Due>((last) => due.all(database.db, { ...at, after: last?.id ?? '' }))) {
    for (const { id, is_due } of users) {
      if (stop.aborted) return total
      try {
        for (let erased = is_due ? batchRows : 0; erased >= batchRows && !stop.aborted; total += erased)
          erased = await database.write((trx) => sweepUser(trx, id, end, now))
        failedInARow = 0
      } catch (err) {
        log.error({ err, user: id }, 'the versions of a user could not be swept, retrying within the hour')
        failed++
        if (++failedInARow === mostInARow) throw err
      }
    }
  }
  if (failed > 0) throw new UnfinishedSweep(total, `users whose versions could not be swept: ${failed}`)
  return total
}

async function sweepUser(trx: Trx, id: string, end: number, now: number): Promise<number> {
  const user = await lockUser(trx, id)
  const sequences = await versionsBefore(trx, id, end, now, batchRows)
  if (sequences.length > 0) await saveCounters(trx, subtract(user, await eraseVersions(trx, id, sequences)))
  return sequences.length
}

interface Page {
  after: string
  end: number
  now: number
  users: number
}

interface Due {
  id: string
  is_due: boolean | number
}

const due = query(
  (_, { after, end, now, users }: Placeholders<Page>) => sql<Due>`
    select id, coalesce((
        select ${keptFrom} from versions where versions.user_id = users.id and ${keptFrom} <= ${now}
        order by sequence limit 1
      ) < ${end}, false) as is_due
    from users where id > ${after} order by id limit ${users}`,
)
