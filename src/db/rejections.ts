import type { Db, Trx } from './database.ts'
import { type EntityKey, entityKey } from './records.ts'
import type { Schema } from './schema.ts'

export type Rejection = Schema['rejections']

export async function saveRejections(trx: Trx, rejections: Rejection[]): Promise<void> {
  for (const rejection of rejections) {
    const { device_id, winner_stamp, created_at } = rejection
    await trx
      .insertInto('rejections')
      .values(rejection)
      .onConflict((conflict) =>
        conflict.columns(['user_id', 'entity_type', 'entity_id']).doUpdateSet({ device_id, winner_stamp, created_at }),
      )
      .execute()
  }
}

export async function countRejections(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('rejections')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** A newer change of an entity settles its conflict. Few are open at a time, while a push may write 10,000 entities. */
export async function settleEntities(trx: Trx, userId: string, keys: EntityKey[]): Promise<void> {
  const open = await trx
    .selectFrom('rejections')
    .select(['entity_type', 'entity_id'])
    .where('user_id', '=', userId)
    .execute()
  if (open.length === 0) return
  const written = new Set(keys.map(entityKey))
  for (const { entity_type, entity_id } of open.filter((key) => written.has(entityKey(key)))) {
    await trx
      .deleteFrom('rejections')
      .where('user_id', '=', userId)
      .where('entity_type', '=', entity_type)
      .where('entity_id', '=', entity_id)
      .execute()
  }
}

/** A device that has pulled the winner knows that its change lost. */
export async function settleDevice(trx: Trx, userId: string, deviceId: string, cursor: number): Promise<void> {
  await trx
    .deleteFrom('rejections')
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .where('winner_stamp', '<=', cursor)
    .execute()
}
