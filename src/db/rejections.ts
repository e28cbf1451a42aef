import type { Db, Trx } from './database.ts'

export async function countRejections(db: Db, userId: string): Promise<number> {
  const { count } = await db
    .selectFrom('rejections')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Whether a device that has pulled up to `cursor` has pulled the winner over one of its rejected changes. */
export async function hasPulledWinner(db: Db, userId: string, deviceId: string, cursor: number): Promise<boolean> {
  const rejection = await db
    .selectFrom('rejections')
    .select('entity_id')
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .where('winner_stamp', '<=', cursor)
    .limit(1)
    .executeTakeFirst()
  return rejection !== undefined
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
