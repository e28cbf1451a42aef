import type { Db, Trx } from './database.ts'
import type { EntityKey } from './records.ts'
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

/** A newer change of an entity settles its conflict. */
export async function settleEntities(trx: Trx, userId: string, keys: EntityKey[]): Promise<void> {
  if ((await countRejections(trx, userId)) === 0) return
  for (const { entity_type, entity_id } of keys) {
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
