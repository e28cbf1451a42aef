import type { Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'

export type Heartbeat = Schema['heartbeat']
type Watched = Pick<Heartbeat, (typeof watched)[number]>
type Judged = Pick<Heartbeat, (typeof judged)[number]>

const judged = ['believed_at', 'judged_at', 'doubted_ms'] as const
const watched = ['orphans_since', 'orphans_sought_at'] as const

/** Locks the row until the transaction ends, so that instances judge the clock one after the other. */
export async function lockHeartbeat(trx: Trx): Promise<Judged> {
  // Changes nothing: a write locks the row on both databases.
  return trx
    .updateTable('heartbeat')
    .set(({ ref }) => ({ judged_at: ref('judged_at') }))
    .returning(judged)
    .executeTakeFirstOrThrow()
}

export async function readJudgement(db: Db): Promise<Judged> {
  return db.selectFrom('heartbeat').select(judged).executeTakeFirstOrThrow()
}

export async function saveJudgement(trx: Trx, judgement: Judged): Promise<void> {
  await trx.updateTable('heartbeat').set(judgement).execute()
}

export async function readOrphanWatch(db: Db): Promise<Watched> {
  return db.selectFrom('heartbeat').select(watched).executeTakeFirstOrThrow()
}

export async function saveOrphanWatch(trx: Trx, watch: Watched): Promise<void> {
  await trx.updateTable('heartbeat').set(watch).execute()
}
