import type { Selectable } from 'kysely'
import type { Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'

export type Heartbeat = Selectable<Schema['heartbeat']>

const judged = ['at', 'believed_at', 'judged_at', 'doubted_ms'] as const

/** Instances judge the clock one after the other. */
export async function lockHeartbeat(trx: Trx): Promise<Pick<Heartbeat, (typeof judged)[number]>> {
  // A write, so that the row is held on both databases.
  return trx
    .updateTable('heartbeat')
    .set(({ ref }) => ({ judged_at: ref('judged_at') }))
    .returning(judged)
    .executeTakeFirstOrThrow()
}

export async function saveJudgement(
  trx: Trx,
  judgement: Pick<Heartbeat, 'believed_at' | 'doubted_ms'> & { judged_at: number },
): Promise<void> {
  await trx
    .updateTable('heartbeat')
    .set({ ...judgement, at: judgement.judged_at })
    .execute()
}
