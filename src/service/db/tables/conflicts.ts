import { sql } from 'kysely'
import { inParts, pause } from '../../thread/loop.ts'
import type { Db, Trx } from '../engine/database.ts'
import { isOneOf, type Placeholders, query, rowsOfStatement } from '../engine/query.ts'
import { type Table, table } from '../engine/table.ts'
import type { Schema } from '../schema.ts'
import { type EntityKey, type IdsOfType, inPartsOfType, isOfAny } from './records.ts'

/**
 * Conflicts are versions that lost to one that had not seen them. `rejections` has those of a service that keeps no
 * versions, and of releases before versions were kept: the last one of each entity.
 */

export type Rejection = Schema['rejections']

export const rejections: Table<Rejection> = table('rejections', {
  key: ['user_id', 'entity_type', 'entity_id'],
  alike: ['user_id'],
  columns: {
    user_id: 'text',
    entity_type: 'text',
    entity_id: 'text',
    device_id: 'text',
    winner_stamp: 'bigint',
    created_at: 'bigint',
  },
})

/** As in the condition of the indexes on open conflicts. */
export const isOpen = sql<boolean>`settled_at is null and reason <> 'superseded'`

/** The place of a version's arrival: one that was current has become a version later than that. */
const arrived = sql<number>`coalesce(began, seq)`

/** Those that are not settled, counted up to `max`. */
export async function countConflicts(db: Db, userId: string, max: number): Promise<number> {
  let count = 0
  for (let before: number | null = Number.MAX_SAFE_INTEGER; before !== null && count < max; ) {
    await pause()
    const part: { count: number; last: number | null } = await nextOpen.one(db, {
      userId,
      before,
      rows: rowsOfStatement,
    })
    count += Number(part.count)
    before = Number(part.count) < rowsOfStatement ? null : part.last
  }
  for (let after: EntityKey | undefined = firstKey; after && count < max; ) {
    await pause()
    const part: EntityKey[] = await nextRejections.all(db, { userId, ...after, rows: rowsOfStatement })
    count += part.length
    after = part.length < rowsOfStatement ? undefined : part.at(-1)
  }
  return Math.min(max, count)
}

/** Before that of every entity. */
const firstKey: EntityKey = { entity_type: 'bookmark', entity_id: '' }

/** In this order, SQLite goes by the index on open ones, and not by one that has all. */
const nextOpen = query((db, { userId, before, rows }: Placeholders<{ userId: string; before: number; rows: number }>) =>
  db
    .selectFrom(
      db
        .selectFrom('versions')
        .select('seq')
        .where('user_id', '=', userId)
        .where(isOpen)
        .where('seq', '<', before)
        .orderBy('seq', 'desc')
        .limit(rows)
        .as('open'),
    )
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('seq').as('last')])
    .$castTo<{ count: number; last: number | null }>(),
)

const nextRejections = query(
  (db, { userId, entity_type, entity_id, rows }: Placeholders<EntityKey & { userId: string; rows: number }>) =>
    db
      .selectFrom('rejections')
      .select(['entity_type', 'entity_id'])
      .where('user_id', '=', userId)
      .where(sql<boolean>`(entity_type, entity_id) > (${entity_type}, ${entity_id})`)
      .orderBy('entity_type')
      .orderBy('entity_id')
      .limit(rows)
      .$castTo<EntityKey>(),
)

/** Removes the rejections of entities: a newer change settles an entity's conflict. */
export async function removeRejections(trx: Trx, userId: string, keys: EntityKey[]): Promise<void> {
  await inPartsOfType(keys, rowsOfStatement, ({ entity_type, ids }) =>
    removedOfType.run(trx, { userId, entity_type, ids }),
  )
}

const removedOfType = query((db, keys: Placeholders<IdsOfType>) => db.deleteFrom('rejections').where(isOfAny(db, keys)))

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
        'seq',
        '=',
        db
          .selectFrom('versions')
          .select('seq')
          .where('user_id', '=', userId)
          .where('version_id', '=', version_id)
          .where(isOpen)
          .orderBy(arrived)
          .limit(1),
      ),
)

/** Settles the conflicts about versions that were restored, if they are open. */
export async function settleRestored(trx: Trx, userId: string, seqs: number[], now: number): Promise<void> {
  await inParts(seqs, rowsOfStatement, (part) => settledRestored.run(trx, { userId, seqs: part, now }))
}

const settledRestored = query(
  (db, { userId, seqs, now }: Placeholders<{ userId: string; seqs: number[]; now: number }>) =>
    db
      .updateTable('versions')
      .set({ settled_at: now })
      .where('user_id', '=', userId)
      .where(isOneOf(db, 'seq', seqs, 'bigint'))
      .where(isOpen),
)

/** At most so many, so that it does not hold the database for long; the next pull removes the others. */
const removedByPull = 10_000

interface Puller {
  userId: string
  deviceId: string
  /** How far the device has pulled. */
  cursor: number
}

/** Where no version is kept there is nothing to decide about: it counts until the device has pulled what it lost to. */
export async function removeRejectionsOf(trx: Trx, puller: Puller): Promise<void> {
  let removed = rowsOfStatement
  for (let all = 0; removed === rowsOfStatement && all < removedByPull; all += removed) {
    await pause()
    removed = await removedOfDevice.run(trx, { ...puller, max: rowsOfStatement })
  }
}

const removedOfDevice = query((db, { userId, deviceId, cursor, max }: Placeholders<Puller & { max: number }>) => {
  const removed = db
    .selectFrom('rejections')
    .select(['entity_type', 'entity_id'])
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .where('winner_stamp', '<=', cursor)
    .limit(max)
  return db
    .deleteFrom('rejections')
    .where('user_id', '=', userId)
    .where(({ refTuple, eb }) =>
      eb(refTuple('entity_type', 'entity_id'), 'in', removed.$asTuple('entity_type', 'entity_id')),
    )
})
