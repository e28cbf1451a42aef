import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query } from '../engine/query.ts'

/** Looking at this many takes some milliseconds at most. */
const pageRows = 500

/** As in the condition of the indexes on open conflicts. */
export const isOpen = sql<boolean>`settled_at is null and reason <> 'superseded'`

/** The place of a version's arrival: one that was current has become a version later than that. */
const arrived = sql<number>`coalesce(began, sequence)`

/** Counts the open conflicts up to `max`. A conflict is a version that lost to one that had not seen it. */
export async function countConflicts(db: Db, userId: string, max: number): Promise<number> {
  let count = 0
  for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null && count < max; ) {
    if (count > 0) await eventLoopTurn()
    const part: { count: number; last: number | null } = await nextOpen.one(db, {
      userId,
      before,
      rows: pageRows,
    })
    count += Number(part.count)
    before = Number(part.count) < pageRows ? null : part.last
  }
  return Math.min(max, count)
}

/** In this order, SQLite goes by the index on open ones, and not by one that has all. */
const nextOpen = query((db, { userId, before, rows }: Placeholders<{ userId: string; before: number; rows: number }>) =>
  db
    .selectFrom(
      db
        .selectFrom('versions')
        .select('sequence')
        .where('user_id', '=', userId)
        .where(isOpen)
        .where('sequence', '<', before)
        .orderBy('sequence', 'desc')
        .limit(rows)
        .as('open'),
    )
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('sequence').as('last')])
    .$castTo<{ count: number; last: number | null }>(),
)

/** Settles the conflict about a version, if it is open, of several with its id the first; true if there was one. */
export async function settleVersion(trx: Trx, userId: string, version_id: string, now: number): Promise<boolean> {
  return (await settled.run(trx, { userId, version_id, now })) > 0
}

const settled = query(
  (db, { userId, version_id, now }: Placeholders<{ userId: string; version_id: string; now: number }>) =>
    db
      .updateTable('versions')
      .set({ settled_at: now })
      .where('user_id', '=', userId)
      .where(
        'sequence',
        '=',
        db
          .selectFrom('versions')
          .select('sequence')
          .where('user_id', '=', userId)
          .where('version_id', '=', version_id)
          .where(isOpen)
          .orderBy(arrived)
          .limit(1),
      ),
)

/** Settles the conflicts about versions that were restored, if they are open. */
export const { run: settleRestored } = query(
  (db, { userId, sequences, now }: Placeholders<{ userId: string; sequences: number[]; now: number }>) =>
    db
      .updateTable('versions')
      .set({ settled_at: now })
      .where('user_id', '=', userId)
      .where(isOneOf(db, 'sequence', sequences, 'bigint'))
      .where(isOpen),
)
