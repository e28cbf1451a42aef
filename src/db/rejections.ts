import type { Db, Trx } from './database.ts'
import { type Placeholders, query } from './query.ts'

/** A pull that settles more leaves the others to the next one, so that none holds the database for long. */
const maxSettled = 10_000

/** Counted up to `max`. */
export async function countRejections(db: Db, userId: string, max: number): Promise<number> {
  return (await openConflicts.one(db, { userId, max })).count
}

const openConflicts = query((db, { userId, max }: Placeholders<{ userId: string; max: number }>) =>
  db
    .selectFrom(db.selectFrom('rejections').select('entity_id').where('user_id', '=', userId).limit(max).as('open'))
    .select(({ fn }) => fn.countAll<number>().as('count')),
)

/** A device that has pulled the winner knows that its change lost. */
export async function settleDevice(trx: Trx, userId: string, deviceId: string, cursor: number): Promise<void> {
  const settled = trx
    .selectFrom('rejections')
    .select(['entity_type', 'entity_id'])
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .where('winner_stamp', '<=', cursor)
    .limit(maxSettled)
  await trx
    .deleteFrom('rejections')
    .where('user_id', '=', userId)
    .where(({ refTuple, eb }) =>
      eb(refTuple('entity_type', 'entity_id'), 'in', settled.$asTuple('entity_type', 'entity_id')),
    )
    .execute()
}
