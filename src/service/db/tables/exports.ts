import { type ExpressionBuilder, type RawBuilder, type Selectable, sql } from 'kysely'
import type { Database, Db, Trx } from '../engine/database.ts'
import type { Schema } from '../schema.ts'

export type ExportRow = Selectable<Schema['exports']>
type NewExport = Pick<ExportRow, 'id' | 'user_id' | 'status' | 'created_at' | 'key_sealed'>

export async function saveExport(trx: Trx, row: NewExport): Promise<ExportRow> {
  return trx.insertInto('exports').values(row).returningAll().executeTakeFirstOrThrow()
}

/** The exports of all users by status. Completed ones are not counted, because there are many. */
export async function countIncomplete(db: Db) {
  const counts = { pending: 0, processing: 0, failed: 0 }
  const rows = await db
    .selectFrom('exports')
    .select(['status', ({ fn }) => fn.countAll<number>().as('count')])
    .where('status', 'in', ['pending', 'processing', 'failed'])
    .groupBy('status')
    .execute()
  for (const { status, count } of rows) if (status !== 'completed') counts[status] = Number(count)
  return counts
}

/** Newest first. Expired exports are left out, whether or not they have been swept. */
export async function listExports(db: Db, userId: string, now: number) {
  return unexpired(db, userId, now).orderBy('created_at', 'desc').orderBy('id', 'desc').execute()
}

export async function findExport(db: Db, userId: string, id: string, now: number) {
  return unexpired(db, userId, now).where('id', '=', id).executeTakeFirst()
}

function unexpired(db: Db, userId: string, now: number) {
  return db
    .selectFrom('exports')
    .selectAll()
    .where('user_id', '=', userId)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
}

/** Includes expired exports. */
export async function listAllExports(db: Db, userId: string): Promise<Pick<ExportRow, 'id' | 'user_id'>[]> {
  return db.selectFrom('exports').select(['id', 'user_id']).where('user_id', '=', userId).execute()
}

const unfinished = ['pending', 'processing'] as const

/** Withdraws an export from its worker. `object_key` is null unless it is completed. Undefined if it is unknown. */
export async function withdrawExport(trx: Trx, userId: string, id: string) {
  const one = trx.updateTable('exports').where('user_id', '=', userId).where('id', '=', id)
  await one.where('status', 'in', unfinished).set({ status: 'failed', lease_until: 0 }).execute()
  const row = trx.selectFrom('exports').select('object_key').where('user_id', '=', userId).where('id', '=', id)
  return row.executeTakeFirst()
}

/** Deletes a withdrawn export. */
export async function deleteExport(trx: Trx, userId: string, id: string): Promise<void> {
  await trx.deleteFrom('exports').where('user_id', '=', userId).where('id', '=', id).execute()
}

const leaseMs = 15_000
const retryMs = 5_000
const maxAttempts = 3
/** Jobs per search: more than there are workers that search at the same time, so that each finds one. */
export const waitingAtOnce = 20
/** Exports that a sweep lists at a time. */
const listLength = 100

/** Leases use the database's clock, which all workers share. */
type Now = Database['now']

/** An attempt at an export. Later ones have a higher fence, so that only the latest can complete it. */
type ExportAttempt = Pick<ExportRow, 'user_id' | 'id' | 'fence'>

export type Job = ExportAttempt & Pick<ExportRow, 'key_sealed' | 'attempts'>
export type WaitingJob = Job & Pick<ExportRow, 'status'>

/**
 * The oldest jobs of all users that wait for a worker. An export is `processing` at first, and `pending` after a failed
 * or interrupted attempt; then `lease_until` says when to retry it. Rows are not locked: each of the next three
 * functions changes its job only if no other worker was faster.
 */
export async function listWaitingJobs(db: Db, now: Now): Promise<WaitingJob[]> {
  return db
    .selectFrom('exports')
    .select(['id', 'user_id', 'key_sealed', 'fence', 'attempts', 'status'])
    .where('status', 'in', unfinished)
    .where(isLeaseOver(now))
    .orderBy('created_at')
    .orderBy('id')
    .limit(waitingAtOnce)
    .execute()
}

export async function claimJob(trx: Trx, { status, ...found }: WaitingJob, now: Now): Promise<Job | undefined> {
  const job = { ...found, fence: found.fence + 1, attempts: found.attempts + 1 }
  const lease = { fence: job.fence, attempts: job.attempts, lease_until: after(now, leaseMs) }
  const isClaimed = await changed(updateWaiting(trx, found, now).set({ status: 'processing', ...lease }))
  return isClaimed ? job : undefined
}

/** Postpones a job without an attempt, because its user has reached the rate limit. */
export async function deferJob(trx: Trx, found: WaitingJob, now: Now): Promise<void> {
  await updateWaiting(trx, found, now)
    .set({ lease_until: after(now, retryMs) })
    .execute()
}

/** Makes a job whose worker died wait for another worker, or fail if it has no attempts left. */
export async function recoverJob(trx: Trx, found: WaitingJob, now: Now): Promise<void> {
  const status = hasFailed(found) ? 'failed' : 'pending'
  await updateWaiting(trx, found, now).set({ status, lease_until: 0 }).execute()
}

/** True if the worker that claimed the job has died: its lease is over, and the job still `processing`. */
export function isAbandoned({ status, attempts }: WaitingJob): boolean {
  return status === 'processing' && attempts > 0
}

export function hasFailed({ attempts }: Pick<Job, 'attempts'>): boolean {
  return attempts >= maxAttempts
}

function updateWaiting(trx: Trx, { user_id, id, fence }: ExportAttempt, now: Now) {
  return trx
    .updateTable('exports')
    .where('user_id', '=', user_id)
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('status', 'in', unfinished)
    .where(isLeaseOver(now))
}

/** A lease that ends much later than a new one would is from before the clock was set back: it counts as over. */
function isLeaseOver(now: Now) {
  return ({ or, eb }: ExpressionBuilder<Schema, 'exports'>) =>
    or([eb('lease_until', '<=', now), eb('lease_until', '>', after(now, 2 * leaseMs))])
}

function after(now: Now, ms: number): RawBuilder<number> {
  return sql`${now} + ${ms}`
}

/** The functions up to `failAttempt` are for the worker that claimed the job. False if it has lost the job. */
export async function renewLease(trx: Trx, attempt: ExportAttempt, now: Now): Promise<boolean> {
  return changed(updateClaimed(trx, attempt).set({ lease_until: after(now, leaseMs) }))
}

export async function completeExport(
  trx: Trx,
  attempt: ExportAttempt,
  file: Pick<ExportRow, 'size_bytes' | 'bookmark_count' | 'object_key' | 'expires_at'>,
): Promise<boolean> {
  return changed(updateClaimed(trx, attempt).set({ ...file, status: 'completed', lease_until: 0 }))
}

/** Gives the job back after an interruption. The attempt does not count. */
export async function releaseExport(trx: Trx, attempt: ExportAttempt): Promise<boolean> {
  return giveBack(trx, attempt, 0)
}

/** Gives the job back after a failure that is not the export's fault. The attempt does not count. */
export async function postponeExport(trx: Trx, attempt: ExportAttempt, now: Now): Promise<boolean> {
  return giveBack(trx, attempt, after(now, retryMs))
}

async function giveBack(trx: Trx, attempt: ExportAttempt, lease_until: number | RawBuilder<number>): Promise<boolean> {
  const uncounted = ({ eb }: ExpressionBuilder<Schema, 'exports'>) => eb('attempts', '-', 1)
  return changed(updateClaimed(trx, attempt).set({ status: 'pending', lease_until, attempts: uncounted }))
}

export async function failAttempt(trx: Trx, job: Job, now: Now): Promise<boolean> {
  const next = hasFailed(job) ? 'failed' : 'pending'
  return changed(updateClaimed(trx, job).set({ status: next, lease_until: after(now, retryMs * job.attempts) }))
}

function updateClaimed(trx: Trx, { user_id, id, fence }: ExportAttempt) {
  return trx
    .updateTable('exports')
    .where('user_id', '=', user_id)
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('status', '=', 'processing')
}

async function changed(query: ReturnType<typeof updateClaimed>): Promise<boolean> {
  const { numUpdatedRows } = await query.executeTakeFirst()
  return numUpdatedRows === 1n
}

/** True if the attempt is running, or has completed the export. */
export async function isCurrent(db: Db, { user_id, id, fence }: ExportAttempt): Promise<boolean> {
  const row = await db
    .selectFrom('exports')
    .select('id')
    .where('user_id', '=', user_id)
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('status', 'in', ['processing', 'completed'])
    .executeTakeFirst()
  return row !== undefined
}

/** The object keys of up to `length` exports that can be downloaded. Those that expire last come first. */
export async function listObjectKeys(db: Db, now: number, length: number): Promise<string[]> {
  const rows = await db
    .selectFrom('exports')
    .select('object_key')
    .where('expires_at', '>', now)
    .orderBy('expires_at', 'desc')
    .limit(length)
    .execute()
  return rows.flatMap(({ object_key }) => object_key ?? [])
}

export type OutdatedExport = Pick<ExportRow, 'id' | 'user_id'>

/** The completed exports that expired first, after the first `offset` ones. */
export async function listExpired(db: Db, now: number, offset: number): Promise<OutdatedExport[]> {
  return outdated(db, offset).where('expires_at', '<=', now).orderBy('expires_at').orderBy('id').execute()
}

/** The oldest failed exports created before `end`, after the first `offset` ones. */
export async function listFailed(db: Db, end: number, offset: number): Promise<OutdatedExport[]> {
  const failed = outdated(db, offset).where('status', '=', 'failed')
  return failed.where('created_at', '<=', end).orderBy('created_at').orderBy('id').execute()
}

function outdated(db: Db, offset: number) {
  return db.selectFrom('exports').select(['id', 'user_id']).limit(listLength).offset(offset)
}
