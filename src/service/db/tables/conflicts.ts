import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db, Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query } from '../engine/query.ts'

/** Rows per query, so that it takes only a few milliseconds. */
const pageRows = 500

/** True for open conflicts. The text is that of their indexes' condition, so that these are used. */
export const isOpen = sql<boolean>`settled_at is null and reason <> 'superseded'`

/** The sequence number with which a version arrived: if it was current, `began`. The text is that of the index. */
const arrived = sql<number>`coalesce(began, sequence)`

/** Counts open conflicts up to `max`: unsettled versions that lost on arrival or were overwritten unseen. */
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

/** Because of `order by`, SQLite uses the index on open conflicts and not a larger one. */
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

/** Settles the open conflict about a version. If several have this id, the first to arrive. False if none is open. */
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

/** Settles open conflicts about restored versions. */
export const { run: settleRestored } = query(
  (db, { userId, sequences, now }: Placeholders<{ userId: string; sequences: number[]; now: number }>) =>
    db
      .updateTable('versions')
      .set({ settled_at: now })
      .where('user_id', '=', userId)
      .where(isOneOf(db, 'sequence', sequences, 'bigint'))
      .where(isOpen),
)
