import type { FastifyBaseLogger } from 'fastify'
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import { dayMs } from '../../protocol/order.ts'
import type { Database, Trx } from '../db/engine/database.ts'
import { type Placeholders, pages, query } from '../db/engine/query.ts'
import type { RecordsTable } from '../db/schema.ts'
import { adjustCounts, eraseVersions, subtract, versionsBefore } from '../db/tables/erased-versions.ts'
import { entityKey, isEmptyTombstone, recordsAfter } from '../db/tables/records.ts'
import { lockUser, saveCounters } from '../db/tables/users.ts'
import { findKeptData, keptFrom, type VersionRow, versions } from '../db/tables/versions.ts'
import { toReplaced } from '../sync/rows.ts'
import { pause } from '../thread/loop.ts'
import { UnfinishedSweep } from './unfinished-sweep.ts'

/** Looking through all records of those who have written since takes long, and finds something only after an upgrade. */
const checkMs = 7 * dayMs
/** Users of a query, and versions of a transaction: some milliseconds each. */
const pageUsers = 500
/** One's rows may be locked or damaged; it is not that if it happens to so many. */
const mostInARow = 10
const batchRows = 500

export interface VersionSweepParts {
  config: { keepVersionsDays: number }
  database: Pick<Database, 'db' | 'bulk' | 'write' | 'emptyLog'>
  clock: () => number
  log: FastifyBaseLogger
}

export const versionSweeps = {
  /** Kept for as long as is configured. */
  versions: sweepVersions,
  /** Then nothing that was erased is in the database's log either. */
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
  const at = { end, now, checked: now - checkMs, users: pageUsers }
  for await (const users of pages<Due>((last) => due.all(database.db, { ...at, after: last?.id ?? '' }))) {
    for (const { id, is_due, unchecked, last_stamp } of users) {
      if (stop.aborted) return total
      try {
        if (unchecked) await adoptTombstones(database, id, { now, to: last_stamp })
        for (let erased = is_due || unchecked ? batchRows : 0; erased >= batchRows && !stop.aborted; total += erased)
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
  const seqs = await versionsBefore(trx, id, end, now, batchRows)
  if (seqs.length > 0) await saveCounters(trx, subtract(user, await eraseVersions(trx, id, seqs)))
  return seqs.length
}

interface Page {
  after: string
  end: number
  now: number
  checked: number
  users: number
}

interface Due {
  id: string
  last_stamp: number
  is_due: boolean | number
  unchecked: boolean | number
}

/** Unchecked is who has written since: what they wrote last has another number than what was looked through. */
const due = query(
  (_, { after, end, now, checked, users }: Placeholders<Page>) => sql<Due>`
    select id, coalesce((
        select ${keptFrom} from versions where versions.user_id = users.id and ${keptFrom} <= ${now} order by seq limit 1
      ) < ${end}, false) as is_due,
      trash_checked_at < ${checked} and last_stamp > coalesce(trash_checked_to, 0) as unchecked,
      last_stamp
    from users where id > ${after} order by id limit ${users}`,
)

/** Of records in a query, which takes some milliseconds. */
const pageRows = 500

/**
 * A record that a release without versions deleted has its ciphertext, but no version that has it: it gets one, so that it
 * is in the trash and is erased in time. Which change made it is not known any more. And tombstones of which
 * nothing is kept are counted, which such a release does not do.
 */
async function adoptTombstones(
  database: Pick<Database, 'bulk' | 'write'>,
  userId: string,
  { now, to }: { now: number; to: number },
): Promise<void> {
  let tombstones = 0
  const next = (last?: Tombstone) => records.all(database.bulk, { userId, after: last?.stamp ?? 0, rows: pageRows })
  for await (const rows of pages(next)) {
    await pause()
    for (const row of rows) tombstones += Number(isEmptyTombstone(row))
    const found = rows.filter(hasData)
    if (found.length > 0) await database.write((trx) => adopt(trx, userId, found))
  }
  await database.write(async (trx) => {
    const user = await lockUser(trx, userId)
    // Whoever has written meanwhile is looked through again, and what was counted may not be right.
    if (user.last_stamp === to && user.empty_tombstones !== tombstones)
      await saveCounters(trx, { ...user, empty_tombstones: tombstones })
    await checked.run(trx, { userId, now, to })
  })
}

/** Those that a version has, or that were written meanwhile, are left out. */
async function adopt(trx: Trx, userId: string, found: (Tombstone & { data_stamp: number })[]): Promise<void> {
  const user = await lockUser(trx, userId)
  const data = found.map(({ data_stamp }) => data_stamp)
  const known = await findKeptData(trx, userId, data)
  const after = (found[0] as Tombstone).stamp - 1
  const current: Tombstone[] = await records.all(trx, { userId, after, rows: pageRows })
  const stamps = new Map(current.filter(hasData).map((row) => [entityKey(row), row.stamp]))
  const left = found.filter((row) => !known.has(row.data_stamp) && stamps.get(entityKey(row)) === row.stamp)
  if (left.length === 0) return
  const adopted = left.map((row) => toVersion(userId, row))
  await versions.insert(trx, adopted)
  const version_bytes = user.version_bytes + left.reduce((sum, { bytes }) => sum + bytes, 0)
  await adjustCounts(trx, userId, left, 1)
  await saveCounters(trx, { ...user, version_bytes, stored_versions: user.stored_versions + left.length })
}

type Tombstone = Pick<RecordsTable, (typeof columns)[number]>

const columns = [
  'entity_type',
  'entity_id',
  'data_hash',
  'created_at',
  'deleted_at',
  'stamp',
  'ahead',
  'event_id',
  'bytes',
  'data_stamp',
  'versions',
] as const satisfies (keyof RecordsTable)[]

function hasData(row: Tombstone): row is Tombstone & { data_stamp: number } {
  return row.deleted_at !== null && row.data_stamp !== null
}

/** As if its delete had replaced something that began with the ciphertext. */
function toVersion(user_id: string, row: Tombstone & { data_stamp: number }): VersionRow {
  const { created_at: timestamp, data_stamp: stamp } = row
  const made = { event_id: uuidv7(), operation: 'update', timestamp, device_id: 'unknown' } as const
  const deleted = { ...row, ...made, stamp, ahead: null, deleted_at: null }
  return toReplaced({ user_id, ...row }, { behind: null }, deleted, false)
}

const records = recordsAfter(columns)

const checked = query((db, { userId, now, to }: Placeholders<{ userId: string; now: number; to: number }>) =>
  db.updateTable('users').set({ trash_checked_at: now, trash_checked_to: to }).where('id', '=', userId),
)
